"""Verifiers of the field: any model of `transformers` that tells whether a premise entails a claim.

Cross-encoders of natural language inference (classes named entailment, neutral, contradiction),
MiniCheck of two classes and MiniCheck-Flan-T5 (Tang et al. 2024), by name or folder.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

from dialogist.errors import ModelError
from dialogist.files import network_allowed
from dialogist.grounding import claim_of
from dialogist.grounding.verification import Judgement
from dialogist.records import Dialogue, Statement
from dialogist_lab.models.pretrained import loading

_AROUND = 2  # lines before and after those of a statement, as many as there is room for
_ENTAILED = 0.5
_LONGEST = 2048  # tokens, where a tokenizer does not say how many its model reads
_T5_PROMPT = "predict: {premise}</s>{claim}"  # MiniCheck's; it answers 0 or 1


class EntailmentVerifier:
    """A statement is supported where its lines, with those around them, entail it."""

    def __init__(self, path: str) -> None:
        """``path``: a folder, or a name on the hub (downloaded where the network is allowed).

        Raises:
            ModelError: it cannot be loaded, or tells no entailment.
        """
        self.name = f"nli:{Path(path).name}"
        options = {"local_files_only": not network_allowed()}
        with loading(f"nli:{path}: no model (--allow-network loads one)"):
            config: Any = AutoConfig.from_pretrained(path, **options)
            self._is_t5 = bool(config.is_encoder_decoder)
            kind = AutoModelForSeq2SeqLM if self._is_t5 else AutoModelForSequenceClassification
            self._model: Any = kind.from_pretrained(path, **options).eval()
            self._tokenizer: Any = AutoTokenizer.from_pretrained(path, **options)
        if self._is_t5:
            self._places = [self._tokenizer.encode(answer)[0] for answer in ("0", "1")]
            self._entailed = 1
            return
        labels = {int(n): str(label).lower() for n, label in config.id2label.items()}
        named = [n for n, label in labels.items() if label.startswith(("entail", "support"))]
        if not named and len(labels) != 2:
            raise ModelError(
                f"nli:{path}: none of its classes is an entailment: {', '.join(labels.values())}"
            )
        self._entailed = named[0] if named else 1

    def verify(self, dialogue: Dialogue, statements: Sequence[Statement]) -> list[Judgement]:
        """Supported or doubtful, with the chance of the entailment."""
        if not statements:
            return []
        claims = [claim_of(statement) for statement in statements]
        premises = [self._premise(dialogue, s, c) for s, c in zip(statements, claims, strict=True)]
        chances = self._chances(premises, claims)
        judged = []
        for chance in (round(chance, 3) for chance in chances):
            reason = () if chance >= _ENTAILED else ("its lines do not entail it",)
            judged.append(Judgement("doubtful" if reason else "supported", reason, chance))
        return judged

    @torch.inference_mode()
    def _chances(self, premises: list[str], claims: list[str]) -> Any:
        if self._is_t5:
            pairs = zip(premises, claims, strict=True)
            texts = [_T5_PROMPT.format(premise=premise, claim=claim) for premise, claim in pairs]
            encoded = self._tokenizer(texts, padding=True, return_tensors="pt")
            begin = torch.full((len(texts), 1), self._model.config.decoder_start_token_id)
            logits = self._model(**encoded, decoder_input_ids=begin).logits[:, 0, self._places]
        else:
            encoded = self._tokenizer(premises, claims, padding=True, return_tensors="pt")
            logits = self._model(**encoded).logits
        return logits.softmax(-1)[:, self._entailed].tolist()

    def _premise(self, dialogue: Dialogue, statement: Statement, claim: str) -> str:
        """The lines of a statement, then those around them while they have room."""
        lines = [f"{u.speaker}: {u.text}" for u in dialogue.utterances]
        sizes = [len(self._tokenizer.encode(line, add_special_tokens=False)) + 1 for line in lines]
        most = min(self._tokenizer.model_max_length, _LONGEST)
        room = most - len(self._tokenizer.encode(claim)) - 8
        shown: set[int] = set()
        cited = [span.utterance for span in statement.evidence]
        for distance in range(_AROUND + 1):
            for number in (n for c in cited for n in (c - distance, c + distance)):
                new = 0 <= number < len(lines) and number not in shown
                if new and sum(sizes[n] for n in shown) + sizes[number] <= room:
                    shown.add(number)
        return "\n".join(lines[number] for number in sorted(shown))
