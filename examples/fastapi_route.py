"""A route that summarizes a conversation, in a FastAPI application of your own.

    uvicorn fastapi_route:app
    curl -d '{"text": "Ann: Lunch at noon?\\nBo: Yes, at Luigi\\u0027s."}' localhost:8000/summaries

For keys, limits, batches and a page to review summaries, run ``dialogist serve`` instead.
"""

import asyncio
from typing import Annotated

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

from dialogist import DialogistError, Dialogue, Summarizer

SECONDS = 10

app = FastAPI(title="Summaries")
summarizer = Summarizer()  # once; many threads may call it at the same time


class Conversation(BaseModel):
    """Lines of ``Name: what was said``."""

    text: Annotated[str, Field(min_length=1, max_length=200_000)]
    length: Annotated[str, Field(pattern="^(short|medium|long)$")] = "medium"


class Line(BaseModel):
    """A statement, its verdict, and the utterances (from 0) that it rests on."""

    statement: str
    verdict: str
    utterances: list[int]


class Reply(BaseModel):
    """A summary that its reader can check."""

    status: str
    reason: str
    lines: list[Line]


@app.post("/summaries")
async def summarize(conversation: Conversation) -> Reply:
    """Summarize one conversation; 504 if it takes too long, 422 if it cannot be read."""
    try:
        work = asyncio.to_thread(_summary, conversation)  # computing must not block the server
        return await asyncio.wait_for(work, SECONDS)
    except TimeoutError:
        raise HTTPException(504, "the summary took too long") from None
    except DialogistError as error:
        raise HTTPException(422, str(error)) from None


def _summary(conversation: Conversation) -> Reply:
    dialogue = Dialogue.from_text(conversation.text)
    [summary] = summarizer.summarize([dialogue], length=conversation.length)
    lines = [
        Line(
            statement=statement.text,
            verdict=statement.verdict,
            utterances=[span.utterance for span in statement.evidence],
        )
        for statement in summary.statements
    ]
    return Reply(status=summary.status, reason=summary.reason, lines=lines)
