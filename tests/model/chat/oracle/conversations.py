"""The conversations that every template is tried with."""

TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "Tells the weather of a place \u2014 \"now\" or later.",
        "parameters": {"type": "object", "properties": {
            "place": {"type": "string", "description": "A town, like M\u00fcnchen or \u6771\u4eac"},
            "days": {"type": "integer", "enum": [0, 1, 2]},
            "units": {"type": ["string", "null"], "default": None}}, "required": ["place"]}}},
    {"type": "function", "function": {
        "name": "add", "description": "Adds two numbers.",
        "parameters": {"type": "object", "properties": {
            "a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]},
        "return": {"type": "number", "description": "Their sum."}}},
]


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def call(name, arguments, number):
    return {"id": "call%05d" % number, "type": "function",
            "function": {"name": name, "arguments": arguments}}


def tool(content, name, number):
    return {"role": "tool", "content": content, "name": name, "tool_call_id": "call%05d" % number}


def conversations(controls):
    """Name and record of each. `controls`: the template's own control tokens, begin and end first."""
    begin, end = controls[0], controls[1]
    others = (controls[2:] or controls)[:5]
    sun = call("get_weather", {"place": "M\u00fcnchen", "days": 2, "units": None}, 1)
    total = call("add", {"a": 1.5, "b": -3}, 2)
    text_call = call("add", '{"a": 1.5, "b": -3}', 2)
    return [
        ("no system", {"messages": [user("What is two plus two?"), assistant("It is 4.")]}),
        ("system", {"messages": [
            {"role": "system", "content": "You are a terse clerk."}, user("Name a colour."),
            assistant("Blue.")]}),
        ("several turns", {"messages": [
            {"role": "system", "content": "Answer in English."}, user("Hi"), assistant("Hello!"),
            user("How are you?\nAnd the cat?"), assistant("Fine.\n\nThe cat sleeps."), user("Bye"),
            assistant("Goodbye.")]}),
        ("ends with user", {"messages": [
            user("Hi"), assistant("Hello! What do you need?"), user("A short poem, please.")]}),
        ("empty answer", {"messages": [user("Say nothing."), assistant("")]}),
        ("outer white space", {"messages": [
            {"role": "system", "content": " \n Be kind.\n"}, user("  two spaces, a tab\t"),
            assistant("\n\n answer with space around \n"), user("\n"), assistant(" x  ")]}),
        ("parts", {"messages": [
            {"role": "system", "content": [{"type": "text", "text": "Look closely."}]},
            user([{"type": "text", "text": "First part."}, {"type": "text", "text": " Second part?"}]),
            assistant([{"type": "text", "text": "Two parts, I see."}])]}),
        ("tool calls without content", {"messages": [
            user("Weather in M\u00fcnchen?"), assistant(None, tool_calls=[sun])], "tools": TOOLS}),
        ("tool result", {"messages": [
            {"role": "system", "content": "Use tools."}, user("Weather, and 1.5 - 3?"),
            assistant("", tool_calls=[sun, total]), tool('{"sky": "clear", "t": 21.5}', "get_weather", 1),
            tool("-1.5", "add", 2), assistant("Clear, 21.5 degrees, and -1.5."), user("Thanks!"),
            assistant("You are welcome.")], "tools": TOOLS}),
        ("reasoning", {"messages": [
            user("Is 7 prime?"), assistant("Yes.", reasoning_content="7 has no divisor but 1 and 7."),
            user("And 9?"), assistant("No.", reasoning="9 = 3 * 3,\nso it is not.")]}),
        ("quoted control tokens", {"messages": [
            user("What does %s mean? And %s%s?" % (others[0], end, begin)),
            assistant("%s ends, %s begins%sa turn" % (end, begin, "".join(others)))]}),
        ("emoji and CJK", {"messages": [
            user("\U0001F44D\U0001F3FD \u4f60\u597d\uff0c\u4e16\u754c\uff01 caf\u00e9"),
            assistant("\u3053\u3093\u306b\u3061\u306f \U0001F469\u200d\U0001F4BB \uc548\ub155 \U0001F1E9\U0001F1EA")]}),
        # Beyond the twelve: arguments as text, an empty system turn, two answers in a row.
        ("arguments as text", {"messages": [
            {"role": "system", "content": ""}, user("1.5 - 3?"),
            assistant("I add.", tool_calls=[text_call]), tool("-1.5", "add", 2), assistant("-1.5")],
            "tools": TOOLS}),
    ]
