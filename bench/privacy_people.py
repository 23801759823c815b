"""Made-up names, addresses and dates of birth. Nothing here is anybody's: all are drawn."""

from random import Random

from privacy_values import digits, letters

EN_FIRST = (
    *("Anna", "Brian", "Carla", "Derek", "Emma", "Felix", "Grace", "Harold", "Ingrid", "Jamal"),
    *("Karen", "Liam", "Maria", "Nikhil", "Olivia", "Pedro", "Quentin", "Rosa", "Samir", "Tina"),
)
EN_LAST = (
    *("Okafor", "Bennett", "Castillo", "Dubois", "Evans", "Fischer", "Gupta", "Holloway", "Ito"),
    *("Jansen", "Kowalski", "Lindqvist", "Murphy", "Novak", "O'Brien", "Petrov", "Quinn", "Reyes"),
)
ZH_LAST = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗"
ZH_FIRST = (
    "伟",
    "芳",
    "娜",
    "秀英",
    "敏",
    "静",
    "丽娟",
    "强",
    "磊",
    "洋洋",
    "建国",
    "晓明",
    "思远",
    "雨桐",
)
_STREETS = (
    *("Oak", "Maple", "Victoria", "Station", "Church", "Kingsway Park", "Elm Tree", "Lincoln"),
    *("Saint James", "Washington", "Granville", "Mill", "Queen Anne", "Lakeview", "Sunset"),
)
_WAYS = (
    *(
        "Street",
        "St",
        "Road",
        "Rd",
        "Avenue",
        "Ave",
        "Lane",
        "Drive",
        "Court",
        "Boulevard",
        "Blvd.",
    ),
    *("Close", "Crescent", "Terrace", "Place", "Way", "Square", "Gardens"),
)
_CITIES = ("London", "Leeds", "Bristol", "Cambridge", "York")
_US_CITIES = (("Austin", "TX"), ("Denver", "CO"), ("San Jose", "CA"), ("Boston", "MA"))
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "October",
    "Dec",
)


def postcode_uk(draw: Random) -> str:
    area = draw.choice(("SW1A", "NW1", "M1", "EC2V", "CB2", "LS6", "BS8", "W1T", "YO10", "G12"))
    return f"{area} {draw.randint(1, 9)}{letters(draw, 2, 'ABDEFGHJLNPQRSTUWXYZ')}"


def zip_code(draw: Random) -> str:
    five = str(draw.randint(10000, 99950))
    return draw.choice((five, five, f"{five}-{digits(draw, 4)}"))


def address_en(draw: Random) -> str:
    house = draw.choice(
        (str(draw.randint(1, 1899)), f"{draw.randint(1, 300)}{draw.choice('ABab')}")
    )
    name = draw.choice((*_STREETS, f"{draw.randint(4, 99)}th", "N. Clark", "West 42nd"))
    street = f"{house} {name} {draw.choice(_WAYS)}".rstrip(".")
    city, state = draw.choice(_US_CITIES)
    forms = (
        *(
            street,
            street,
            f"{street}, Apt {draw.randint(1, 40)}",
            f"Flat {draw.randint(1, 20)}, {street}",
        ),
        f"{street}, {draw.choice(_CITIES)} {postcode_uk(draw)}",
        f"{street}, {city}, {state} {draw.randint(10000, 99950)}",
        f"{street} #{draw.randint(1, 40)}",
        f"P.O. Box {draw.randint(10, 9999)}",
    )
    return draw.choice(forms)


def address_zh(draw: Random) -> str:
    region = draw.choice(
        ("", "北京市朝阳区", "上海市浦东新区", "广东省深圳市南山区", "杭州市西湖区", "江苏省南京市")
    )
    road = draw.choice(
        ("建国路", "中山大道", "人民南路", "学院街", "解放路", "科技园路", "长江东街")
    )
    estate = draw.choice(("阳光花园", "翠湖小区", "锦绣家园", "万科公寓"))
    unit, room = draw.randint(1, 9), draw.randint(101, 2904)
    number = f"{draw.randint(1, 999)}号"
    forms = (
        f"{region}{road}{number}",
        f"{region}{road}{number}{estate}{unit}栋{room}室",
        f"{region}{road}{draw.randint(10, 900)}弄{unit}号{room}室",
        f"{region}{road}{number}{unit}号楼{draw.randint(1, 4)}单元{room}",
        f"{region}{estate}{unit}栋{draw.randint(1, 4)}单元{room}室",
    )
    return draw.choice(forms)


def birth_en(draw: Random) -> str:
    month, day, year = draw.choice(_MONTHS), draw.randint(1, 28), draw.randint(1935, 2010)
    number = draw.randint(1, 12)
    forms = (
        *(
            f"{day} {month} {year}",
            f"{month} {day}, {year}",
            f"{month} {day}th",
            f"{number}/{day}/{year}",
        ),
        *(
            f"{day:02}.{number:02}.{year}",
            f"{year}-{number:02}-{day:02}",
            f"{day}/{number}/{year % 100:02}",
        ),
    )
    return draw.choice(forms)


def birth_zh(draw: Random) -> str:
    year, month, day = draw.randint(1935, 2010), draw.randint(1, 12), draw.randint(1, 28)
    forms = (
        f"{year}年{month}月{day}日",
        f"{month}月{day}号",
        f"{year}-{month:02}-{day:02}",
        f"{year}.{month}.{day}",
    )
    return draw.choice(forms)


def person_en(draw: Random) -> str:
    first, last = draw.choice(EN_FIRST), draw.choice(EN_LAST)
    return draw.choice((first, f"{first} {last}"))


def person_zh(draw: Random) -> str:
    return draw.choice(ZH_LAST) + draw.choice(ZH_FIRST)
