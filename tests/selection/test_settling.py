"""Brief answers told with what they settle: pairs checked by hand."""

import pytest

from dialogist.selection.select import told_of

# turns between bars => the statement that holds the last turn's answer; "-": none does
_PAIRS = """
Dmitri: I'll do Saturday if I get the Monday off. | Helga: Deal. => Dmitri: “I'll do Saturday if I get the Monday off.” Helga: “Deal.”
Agent: Monday, then? Between eight and ten? | Customer: Monday's fine. Am I paying for this? => Agent: “Monday, then? Between eight and ten?” Customer: “Monday's fine.”
Agent: There's a rolling plan at 36. You can leave any time with 30 days' notice. | Customer: Ok. Do that one. => There is a rolling plan at 36. Customer: “Do that one.”
kwame: make it 8 im at training | zoe: k 8. whats ur adress => kwame: “make it 8 im at training” zoe: “k 8.”
Agent: Sure, that'd be £3.95. | Customer: Go on then. => That would be £3.95. Customer: “Go on then.”
Agent: A new card takes five working days by post. Or you pick it up at the branch on Friday. | Customer: Branch. Which one? => Agent: “Or you pick it up at the branch on Friday.” Customer: “Branch.”
Agent: Would a ground-floor room help, then? Same price. | Customer: Oh, yes please! => Agent: “Would a ground-floor room help, then? Same price.” Customer: “yes please!”
Agent: I could offer you the attic double for the extra night. | Customer: With stairs? | Agent: Forty-two of them. | Customer: My husband's just had his hip done. Leave it as it was. => Agent offers Customer the attic double for the extra night. Customer: “Leave it as it was.”
Ludmila: Let me give you twenty. | Bashir: No, no, really. => Ludmila offers to give Bashir twenty. Bashir: “no, really.”
Chidi: Can I give you a hundred now and the rest on payday? | Marisol: When's that? | Chidi: The 28th. | Marisol: Okay. But I want your number. => Chidi: “Can I give you a hundred now and the rest on payday?” Marisol: “Okay.”
Signe: Call her tomorrow evening, please. | Karim: Well, I'd rather not. => Signe: “Call her tomorrow evening” Karim: “I'd rather not.”
Ann: When do you come? | Bo: Sure. => -
Ann: The bus was late. | Bo: Okay. => -
Ann: The bus was late again. | Bo: No way! => -
Stan: We could go to my sister's instead. | Gloria: Really? | Stan: Yes. | Gloria: I'd rather stay home. | Stan: Home it is. => Gloria would rather stay home. Stan: “Home it is.”
Babak: I've got eighty on me. | Freya: I also owe you for the boat, remember? Thirty. | Babak: Oh yes. => Freya: “I also owe you for the boat, remember? Thirty.” Babak: “Oh yes.”
jaz: cn we do 2, he works til 1 | pops: two. but not later the match is at four => jaz: “cn we do 2” pops: “two.”
Milo: I failed. Third time. | Thandi: No! On what? => -
Doctor: How are the headaches? | Patient: Better. Two this month instead of nine. | Doctor: Excellent. => -
Customer: Is there anything later? | Agent: Ten thirty. | Customer: Perfect. => Customer: “Is there anything later?” Agent: “Ten thirty.” Customer: “Perfect.”
Oskar: I can recommend Lina. | Tevita: Is she any good? | Oskar: She teaches on Fridays. | Tevita: Fridays would be great. => -
Customer: Website's useless on the bus. | Agent: You can use it, or I refund the seven months left. | Customer: It's useless. Refund. => Customer can use it, or Agent refunds the seven months left. Customer: “It's useless. Refund.”
Callie: You bid on that house, didn't you? | Arjun: How do you know? | Callie: The agent is a friend. | Arjun: Great. => -
Patient: Do I call, then? | Doctor: Unless it's more than four a month? | Patient: Then I call? | Doctor: Then you call. => -
Agent: Cleaning that would be ninety. | Customer: What if I don't? | Agent: It'll stop. | Customer: It was my dad's. Clean it. => Cleaning that would be ninety. Customer: “It was my dad's. Clean it.”
Dr Lim: Please ring on Monday. I'll send the curve over. | Ann: Do that. => Dr Lim will send the curve over. Ann: “Do that.”
Ann: From Monday. | Dr Lim: From Monday, then. Keep it up. => -
User: I can see the old ones now. | Desk: Great. => -
Rafiq: Let's say two. I'd like to give you something for it. | Dorothea: Nonsense. => Rafiq wants to give Dorothea something for it. Dorothea: “Nonsense.”
Haruto: They want ten percent off or they leave. | Nkechi: Ten! Our margin's twelve. => -
Customer: Mustard? | Agent: Same price. | Customer: Ugh, ok, mustard. => Customer: “Mustard?” Agent: “Same price.” Customer: “Ugh, ok, mustard.”
Agent: We refund it or send a new one. | Customer: Thanks. => -
"""


def _dialogues() -> list[tuple[list[tuple[str, str]], str]]:
    found = []
    for line in _PAIRS.strip().splitlines():
        said, _, expected = line.partition(" => ")
        turns = [tuple(turn.split(": ", 1)) for turn in said.split(" | ")]
        found.append((turns, expected))
    return found


@pytest.mark.parametrize(("turns", "expected"), _dialogues())
def test_a_brief_answer_is_told_with_what_it_settles(turns, expected):
    last = len(turns) - 1
    found = told_of(turns)
    told = [
        one.text
        for one in found.candidates
        if one.is_settled and found.units[one.units[-1]].turn == last
    ]
    assert (told or ["-"]) == [expected]

