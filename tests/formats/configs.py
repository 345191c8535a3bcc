"""Configs of promptfoo, one for each construct that is read, with the files that they name."""

from __future__ import annotations

from typing import Final

_PROVIDER: Final = "providers: [openai:chat:gpt-x]\n"

CONFIGS: Final[dict[str, dict[str, str]]] = {
    "inline prompts, providers and variables": {
        "promptfooconfig.yaml": """
prompts:
  - "Say {{ greeting }} to {{name}}, 2*3/4."
providers:
  - openai:chat:gpt-x
  - id: openai:responses:gpt-x
    label: responses
  - anthropic:messages:claude-x
  - anthropic:claude-sonnet-4-5
  - {id: openai:chat:gpt-x, config: {temperature: 0.3, max_tokens: 7}}
  - openai:gpt-5.5
  - openai:gpt-5.6
  - openai:o3-pro
tests:
  - vars: {greeting: Hello, name: Ada}
  - vars:
      greeting: Good day
      name: |
        Grace
  - vars: {greeting: yes, name: 5.0}
  - vars: {greeting: true, name: null}
  - vars: {greeting: 0x10, name: 1.50}
  - vars: {greeting: "5.0", name: " padded  "}
  - vars: {greeting: "a", name: "line separator \\u2028 and 'quotes' \\"double\\" <b>&amp;"}
""",
    },
    "texts with white space": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts:
  - |
    Several lines for {{name}}

    with one break at the end
  - "  in {{name}} blanks  "
tests:
  - vars: {name: "  a\\n\\n"}
  - vars:
      name: |
        text
""",
    },
    "texts that end with their file": {
        "promptfooconfig.yaml": _PROVIDER
        + "prompts:\n- file://c.yaml\n- |\n  - role: user\n    content: |\n      in it\n- |\n  last",
        "c.yaml": "- role: user\n  content: |\n    in a file",
    },
    "nunjucks": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts:
  - "{{ order.customer.name }} has {{ order['number'] }}, {{ items[0].name }}{# nothing #}."
  - "{% for item in items %}{{ loop.index }}. {{ item.name }} at {{ item.price }}\\n{% endfor %}done"
  - "{{ name | upper }} {{ name | lower }} {{ padded | trim }} {{ order | dump }} {{ items | dump(2) }} {{ tags | join(', ') }}"
  - "{% raw %}{{ not a variable }}{% endraw %} {{ missing | default('nobody') }} {{ name | length }} {{ name | safe }}"
  - "{{ tags }} and {{ empty }} in a {{ (style | load).tone }} tone {{ style | load | dump }}"
  - "a { b } c }} d %} e"
tests:
  - vars:
      name: "Straße 🐘"
      padded: "  x\\n  y "
      style: '{"tone": "formal", "sizes": [1, 2]}'
      order: {number: 7.0, customer: {name: Ada}, open: true, note: null}
      items: [{name: pen, price: 1.5}, {name: ink, price: 10}]
      tags: [1, two, true]
      empty: []
""",
    },
    "variables within variables": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts:
  - "{{ question }}"
  - '[{"role": "user", "content": "{{ question }} {{ code }}"}]'
tests:
  - vars:
      question: "Who is {{ name }} of {{ place }}? {{ code }}"
      name: "{{ first }} Lovelace"
      first: Ada
      place: London
      code: "x | upper"
  - vars: {question: "{{ name | upper }}", name: ada, code: "{{ name | upper }}"}
""",
    },
    "lists of texts are a matrix, other lists are not": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts: ["{{ language }} {{ tone }} {{ rows | dump }}"]
tests:
  - vars: {language: [French, German], tone: [kind, terse], rows: [{a: 1}]}
  - vars: {language: [Dutch, 2], tone: x, rows: []}
  - vars: {language: [Danish, Czech], tone: y, rows: 1}
    options: {disableVarExpansion: true}
""",
    },
    "chat prompts": {
        "promptfooconfig.yaml": """
prompts:
  - file://chat.json
  - file://chat.yaml
  - '[{"role": "user", "content": {{ question | dump }}}]'
  - '[{"role": "{{ role }}", "content": "{{ question }}"}]'
  - file://lines.jsonl
providers: [openai:chat:gpt-x, anthropic:messages:claude-x, openai:responses:gpt-x]
tests:
  - vars: {language: French, question: What is up?, role: user}
""",
        "chat.json": """
[{"role": "system", "content": "You speak {{ language }}."},
 {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}, {"role": "user", "content": "{{question}}"}]
""",
        "chat.yaml": """
- role: system
  content: |
    You speak {{ language }}.
    # not a comment
- {role: user, content: "{{ question }}"}
""",
        "lines.jsonl": '[{"role": "user", "content": "one {{question}}"}]\n[{"role": "user", "content": "two {{question}}"}]\n',
    },
    "a chat prompt as YAML": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts:
  - |
    - role: system
      content: You speak {{ language }}.
    - role: user
      content: "{{ question }}"
tests: [{vars: {language: French, question: "yes"}}]
""",
    },
    "hard values inside chat prompts": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts: ['[{"role": "user", "content": "{{ text }}"}]']
tests:
  - vars: {text: 'a "quoted" \\\\ text'}
  - vars: {text: "two\\nlines"}
  - vars: {text: 7}
  - vars: {text: no}
""",
    },
    "a prompt that is a variable": {
        "promptfooconfig.yaml": _PROVIDER
        + """
tests:
  - vars: {prompt: Plain text}
  - vars: {prompt: '[{"role": "user", "content": "From a variable"}]'}
""",
    },
    "prompts in files": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts: [file://several.txt, prompts/one.md, "file://prompts/more-*.txt"]
tests: [{vars: {name: Ada}}]
""",
        "several.txt": "\n\nFirst {{ name }}\n---\n\nSecond --- {{ name }}  \n  over two lines\n ---  \n",
        "prompts/one.md": "# Title\n\nFor {{ name }}\n\n",
        "prompts/more-a.txt": "More a {{ name }}\n",
        "prompts/more-b.txt": "More b {{ name }}\r\nnext\r\n",
    },
    "prompts for some providers and tests": {
        "promptfooconfig.yaml": """
prompts:
  - {label: short, raw: "Short {{ name }}"}
  - {id: file://long.txt, label: long}
  - {id: other, raw: "Other {{ name }}", label: "group:other"}
providers:
  - {id: openai:chat:gpt-x, prompts: [short, long]}
  - {id: anthropic:messages:claude-x, label: claude, prompts: ["group"]}
  - {id: openai:responses:gpt-x}
tests:
  - vars: {name: Ada}
  - {vars: {name: Grace}, prompts: [short]}
  - {vars: {name: Alan}, providers: [claude, "openai:resp*"]}
""",
        "long.txt": "Long {{ name }}",
    },
    "a default test": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts: ["{{ name }} {{ place }}"]
defaultTest: {vars: {name: Ada, place: London}, options: {prefix: "Please: ", suffix: " Thanks."}}
tests:
  - vars: {place: Paris}
  - vars: {name: Grace}
    options: {prefix: "Do: "}
  - {description: nothing of its own, metadata: {a: 1}}
""",
    },
    "a default test in a file": {
        "promptfooconfig.yaml": _PROVIDER
        + 'prompts: ["{{ name }} {{ place }}"]\ndefaultTest: file://default.yaml\ntests: [{vars: {name: Ada}}]\n',
        "default.yaml": "vars: {place: yes}\n",
    },
    "tests in files": {
        "promptfooconfig.yaml": _PROVIDER
        + 'prompts: ["{{ name }}: {{ question }}"]\ntests: [file://t.csv, file://t.jsonl, "file://more/*.yaml", t.json]\n',
        "t.csv": '__description,name ,question,__expected\na,Ada,"one, ""two""\nthree",contains:x\n,Grace, padded ,\n',
        "t.jsonl": '{"vars": {"name": "Alan", "question": 5.0}}\n\n{"vars": {"name": "Joan", "question": "yes"}}\n',
        "more/a.yaml": "- vars: {name: Mary, question: yes}\n",
        "more/b.yaml": "vars: {name: Katherine, question: 010}\n",
        "t.json": '[{"vars": {"name": "Edith", "question": true}}]',
    },
    "tests named by one file": {
        "promptfooconfig.yaml": _PROVIDER + 'prompts: ["{{ q }}"]\ntests: file://t.csv\n',
        "t.csv": "q,__prefix\nwhat,Say \n1.50 euros,\n",
    },
    "the variables of a test in files": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts: ["{{ a }} {{ b }}"]
defaultTest: {vars: {a: d, b: d}}
tests: [{vars: one.yaml}, {vars: [one.yaml, ./two.yaml]}, {vars: "t*o.yaml"}, file://more/tests.yaml]
""",
        "one.yaml": "a: 1.0\n",
        "two.yaml": "{b: file://b.txt}\n",
        "b.txt": "text",
        "more/tests.yaml": "vars: b.yaml\n",
        "more/b.yaml": "b: more\n",
    },
    "variables in files": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts: ["{{ text }} {{ data }} {{ each }}"]
tests:
  - vars: {text: file://texts/a.txt, data: file://d.yaml, each: "file://texts/*.txt"}
  - vars: {text: [file://texts/a.txt, inline], data: file://d.json, each: "{{ data }}"}
""",
        "texts/a.txt": "\n  text a\n\n",
        "texts/b.txt": "text b with {{ data }}",
        "d.yaml": "a: [1, 2.0, yes, null]\nb: {c: d}\n",
        "d.json": '{ "a":  1 }\n',
    },
    "scenarios": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts: ["{{ language }}: {{ input }} {{ extra }}"]
defaultTest: {vars: {extra: e}}
scenarios:
  - config:
      - vars: {language: French}
      - vars: {language: German, extra: more}
    tests:
      - vars: {input: Hello}
      - vars: {input: Bye}
  - config: [{vars: {language: Dutch, input: alone}}]
""",
    },
    "the environment": {
        "promptfooconfig.yaml": """
env: {CITY: Paris}
prompts: ["{{ env.CITY }} {{ name }} {{ env.PF_TEST_UNSET | default('none') }}"]
providers: ["openai:chat:{{ env.PF_TEST_MODEL }}"]
tests: [{vars: {name: "{{ env.CITY }}"}}]
""",
    },
    "images and audio": {
        "promptfooconfig.yaml": _PROVIDER
        + """
prompts:
  - '[{"role": "user", "content": [{"type": "text", "text": "{{ q }}"}, {"type": "image_url", "image_url": {"url": "{{ image }}"}}]}]'
  - '[{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "{{ speech }}", "format": "mp3"}}]}]'
defaultTest: {vars: {speech: file://speech.mp3}}
tests:
  - vars: {q: what, image: file://dot.png}
  - vars: {q: what, image: "https://images.example/a.png"}
""",
        "dot.png": "data:image/png",
        "speech.mp3": "data:audio/mpeg",
    },
    "instructions and items of Responses": {
        "promptfooconfig.yaml": """
prompts: [Hi, '[{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Ho"}]}]']
providers: [{id: openai:responses:gpt-x, config: {instructions: Be kind., store: true}}]
""",
    },
    "tools": {
        "promptfooconfig.yaml": """
prompts: ["{{ q }}"]
providers:
  - id: openai:chat:gpt-x
    config:
      tools: [{type: function, function: {name: get_weather, parameters: {type: object, properties: {city: {type: string}}}}}]
      tool_choice: auto
  - id: anthropic:messages:claude-x
    config:
      tools: [{name: get_weather, description: The weather, input_schema: {type: object, properties: {city: {type: string}}}}]
tests: [{vars: {q: Is it warm?}}]
""",
    },
    "keys of Windows and other odd files": {
        "promptfooconfig.yaml": '\ufeffprompts: ["{{ a }}{{ a }}"]\r\nproviders: openai:chat:gpt-x\r\ntests:\r\n  - vars:\r\n      a: &x "z"\r\n  - vars: {a: *x}\r\n',
    },
    "an empty variable": {
        "promptfooconfig.yaml": _PROVIDER
        + "prompts: ['[ {{ a }} x]', 'b{{ a }}']\ntests: [{vars: {a: ''}}, {vars: {a: }}, {vars: {a: x}}]\n",
    },
}
