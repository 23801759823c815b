"""The rule pack that several tests read."""

# The paper's own words (Tables 1 and 2), as rules.
SERVICE = r"""
name: service
language: en
version: 1
default: Question description
rules:
  - label: Suggestion
    pattern: '^(I|we) (suggested|recommended)\b'
    examples: ["I suggested the user go to the downtown for orders."]
    counterexamples: ["The user approved the result."]
  - label: User disapproval
    pattern: 'user disapproved'
    examples: ["The user disapproved the result."]
  - label: User approval
    pattern: 'user approved'
    examples: ["The user approved the result."]
    counterexamples: ["The user disapproved the result."]
  - label: Solution
    pattern: '^I told\b'
    examples: ["I told the user to fill in a form."]
  - label: End
    pattern: 'hung up'
    examples: ["User hung up."]
  - label: Question description
    pattern: '^the user''s question\b'
    examples: ["The user's question is about the standard."]
key_facts: [User approval, User disapproval]
"""

TABLE_1 = (
    "The user's question was about the standard of EV car for the Express. He asked the standard "
    "to decide which car to buy. I told the user to fill in the type of the cars in our system and "
    "we would give feedback in seven days. The user approved the result. The user hung up."
)
