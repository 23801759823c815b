"""Makes of cars, and the model that is said behind them: "BMW 320i", "Toyota Camry", 宝马320."""

import re
from collections.abc import Iterator

_MAKES = (
    "Acura|Alfa Romeo|Audi|Bentley|BMW|Buick|BYD|Cadillac|Chery|Chevrolet|Chevy|Chrysler|"
    "Citro[eë]n|Dacia|Fiat|Ford|Geely|GMC|Honda|Hyundai|Infiniti|Jaguar|Jeep|Kia|"
    "Lamborghini|Land Rover|Lexus|Lincoln|Maserati|Mazda|Mercedes(?:[- ]Benz)?|Mini Cooper|"
    "Mitsubishi|Nissan|Opel|Peugeot|Porsche|Range Rover|Renault|Rolls[- ]Royce|Saab|Seat|"
    "[SŠ]koda|Smart|Subaru|Suzuki|Tesla|Toyota|Vauxhall|Volkswagen|Volvo|VW"
)
_HAN_MAKES = (
    "宝马|奔驰|奥迪|大众|丰田|本田|日产|别克|福特|雪佛兰|现代|起亚|马自达|标致|雪铁龙|比亚迪|吉利|长安|奇瑞|长城|哈弗|"
    "特斯拉|沃尔沃|路虎|捷豹|雷克萨斯|凯迪拉克|保时捷|斯柯达|三菱|铃木|荣威|红旗|蔚来|小鹏|理想"
)
_ALONE_NO_CAR = "Ford|Lincoln|Seat|Smart|Jaguar"  # a surname, a chair, a word, an animal
_MODEL = r" (?:[A-Z][A-Za-z0-9-]{1,12}|[A-Z]?[0-9][A-Za-z0-9-]{0,6})(?: [A-Z0-9][A-Za-z0-9-]{0,6})?"
_CAR = r"(?= (?:car|van|truck|sedan|SUV|pickup|hatchback|coupe)\b)"
_VEHICLE = re.compile(
    rf"\b(?:(?:{_ALONE_NO_CAR})(?: (?:[A-Z]?[0-9][A-Za-z0-9-]{{0,6}}|[A-Z][a-z]+ [0-9]+)|{_CAR})"
    rf"|(?!(?:{_ALONE_NO_CAR})\b)(?:{_MAKES})\b(?:{_MODEL})?)"
    rf"|(?:{_HAN_MAKES})(?:[A-Z0-9][A-Za-z0-9-]{{0,6}}(?:系|级)?|(?=[轿汽]?车))"
)


def vehicles_in(text: str) -> Iterator[tuple[int, int]]:
    """Where vehicles stand; makes that are other words, too, need a number or "car" behind them."""
    for match in _VEHICLE.finditer(text):
        yield match.start(), match.end()
