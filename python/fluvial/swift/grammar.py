# SPDX-License-Identifier: Apache-2.0
"""The grammar of scripts, as lark takes it (LALR)."""

GRAMMAR = r"""
start: _item*
_item: import_ | include | main | function | leaf | app | global_ | _statement

import_: "import" NAME ("." NAME)* ";"
include: INCLUDE
global_: "global" "const" TYPE NAME "=" _expression ";"

main: NAME block
function: _definition block
leaf: _definition STRING STRING? (STRING | template)? ";"
template: "[" STRING "]"
app: mark* "app" outputs? NAME "(" parameters? ")" "{" _app_word+ ";"? "}"

_definition: mark* outputs? NAME "(" parameters? ")"
mark: "@" NAME
outputs: "(" ")" | "(" parameter ("," parameter)* ")"
parameters: parameter ("," parameter)*
parameter: TYPE dimensions? NAME dimensions?
dimensions: dimension+
dimension: "[" TYPE? "]"

_app_word: app_word | redirection
app_word: _app_value | file_name
file_name: "@" NAME
redirection: "@" NAME "=" _app_value
_app_value: integer | floating | string | boolean | name | call | conversion | app_element
    | "(" _expression ")"
app_element: NAME subscript+

_statement: chain | if_ | foreach | for_ | iterate | switch | wait | block | ";"
block: "{" _statement* "}"
chain: _chainable ("=>" _chainable)* (";" | "=>" block)
_chainable: declaration | assignment | call_statement
declaration: TYPE dimensions? declarator ("," declarator)*
declarator: NAME dimensions? mapping? ("=" _expression)?
    | NAME dimensions? mapping_before_value _expression
mapping: LESS _sum MORE
mapping_before_value: LESS _sum AT_LEAST
assignment: target ("," target)* "=" _expression
    | "(" target ("," target)* ")" "=" _expression
target: NAME subscript*
subscript: "[" _expression "]"
call_statement: _call

if_: "if" "(" _expression ")" block ("else" (block | if_))?
foreach: annotation+ "foreach" NAME ("," NAME)? "in" _expression block
    | "foreach" NAME ("," NAME)? "in" _expression block
for_: "for" "(" loop_start ("," loop_start)* ";" _expression ";" _updates ")" block
_updates: loop_update ("," loop_update)*
loop_start: TYPE NAME "=" _expression
loop_update: NAME "=" _expression
iterate: "iterate" NAME block "until" "(" _expression ")" ";"
switch: "switch" "(" _expression ")" "{" case* "}"
case: "case" case_value ":" _statement*
    | "default" ":" _statement*
case_value: INTEGER | "-" INTEGER -> negative_case | STRING | BOOLEAN
wait: "wait" DEEP? "(" arguments ")" block

_expression: _either
_either: _both | either
either: _either "||" _both
_both: _equality | both
both: _both "&&" _equality
_equality: _relation | equality
equality: _equality EQUALITY _relation
_relation: _sum | relation
relation: _relation (LESS | MORE | AT_MOST | AT_LEAST) _sum
_sum: _product | sum
sum: _sum SIGN _product
_product: _unary | product
product: _product PRODUCT _unary
_unary: _power | negative | opposite
negative: SIGN _unary
opposite: "!" _unary
_power: _postfix | power
power: _postfix "**" _unary
_postfix: _atom | element
element: _postfix "[" _expression "]"
_atom: integer | floating | string | boolean | name | _call | conversion
    | array | range | map | tuple | "(" _expression ")"

_call: call | annotated_call
call: NAME "(" arguments? ")"
annotated_call: annotation+ NAME "(" arguments? ")"
annotation: "@" NAME "=" _expression
arguments: _expression ("," _expression)*
conversion: TYPE "(" _expression ")"
array: "[" "]" | "[" _expression ("," _expression)* "]"
range: "[" _expression ":" _expression (":" _expression)? "]"
map: "{" pair ("," pair)* "}"
pair: _expression ":" _expression
tuple: "(" _expression ("," _expression)+ ")"
integer: INTEGER
floating: FLOAT
string: STRING
boolean: BOOLEAN
name: NAME

TYPE.3: /(int|float|string|boolean|blob|file|void)\b/
BOOLEAN.3: /(true|false)\b/
FLOAT.3: /(\d+\.\d+([eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+\.(?!\w)|NaN\b|inf\b)/
DEEP: "deep"
INTEGER: /0[xX][0-9a-fA-F]+|\d+/
STRING: /\"{3}(.|\n)*?\"{3}|\"(\\.|[^\"\\\n])*\"/
NAME: /[A-Za-z_]\w*/
EQUALITY: "==" | "!="
LESS: "<"
MORE: ">"
AT_MOST: "<="
AT_LEAST: ">="
SIGN: "+" | "-"
PRODUCT: /%\/|%%|%|\/|\*(?!\*)/
INCLUDE: /#include[ \t]*[<\"][^>\"\n]+[>\"]/
COMMENT: /\/\/[^\n]*|\/\*(.|\n)*?\*\/|#(?!include)[^\n]*/
%ignore COMMENT
%ignore /[ \t\r\f\n]+/
"""

READABLE = {
    "TYPE": "a type",
    "BOOLEAN": "true or false",
    "FLOAT": "a number",
    "INTEGER": "a number",
    "STRING": "a string",
    "NAME": "a name",
    "EQUALITY": "'=='",
    "LESS": "'<'",
    "MORE": "'>'",
    "AT_MOST": "'<='",
    "AT_LEAST": "'>='",
    "SIGN": "'+'",
    "PRODUCT": "'*'",
    "INCLUDE": "#include",
    "DEEP": "'deep'",
    "$END": "the end of the script",
}
"""What messages call its terminals; others have their text."""
