"""The smallest graph: one node that returns its input.  Run by the LangGraph dev server."""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    """What a thread keeps."""

    text: str


async def echo(state: State) -> State:
    """A turn."""
    return {"text": state["text"]}


builder = StateGraph(State)
builder.add_node("echo", echo)
builder.add_edge(START, "echo")
builder.add_edge("echo", END)
graph = builder.compile()
