"""Questions that tell what the bare value in the next turn is."""

EN_ASKED = {
    "ORDER": ("Can I have your order number?", "What is the booking reference number, please?"),
    "ID": ("What is your account number?", "And your customer number, please?"),
    "PASSPORT": ("And your passport number?", "What's your passport No.?"),
    "SECRET": (
        "What's the security code?",
        "Your PIN, please?",
        "Can you read me the one-time code?",
    ),
    "BIRTH_DATE": ("What is your date of birth?", "When were you born?", "And your birthday?"),
    "POSTCODE": ("And the zip code?", "What's your postcode?"),
    "SSN": ("Your social security number?",),
    "PHONE": ("What's the best phone number for you?",),
    "PLATE_NUM": ("What's your plate number?", "And the registration number of the car?"),
    "ADDRESS": ("What's your address?", "Where do you live?"),
}
EN_ANSWERS = ("{}", "It's {}.", "Sure, {}.", "Yes, that's {}", "Of course. It is {}.")
ZH_ASKED = {
    "ORDER": ("您的订单号是多少？", "请提供一下订单编号。"),
    "ID": ("您的会员号是多少？", "请问您的账号？"),
    "PASSPORT": ("您的护照号码？",),
    "SECRET": ("请说一下验证码。", "密码是什么？"),
    "BIRTH_DATE": ("您的生日是哪天？", "您的出生日期是？"),
    "POSTCODE": ("邮编是多少？",),
}
ZH_ANSWERS = ("{}", "是{}。", "好的，{}", "{}，谢谢")
