"""Structured-clone values: what may cross between user code and the engine, and how it is written down.

The engine handles values as text only (`Encoded`). The text is JSON. What JSON lacks is an object with the
key "$" that names the kind, so that plain values stay readable in the database:

    {"$":"undefined"}                       undefined
    {"$":"number","v":"NaN"}                NaN, Infinity, -Infinity, -0
    {"$":"bigint","v":"12"}                 BigInt; in Python an int beyond 2**53
    {"$":"date","v":1700000000000}          Date, ms since the epoch; null for an invalid one
    {"$":"map","v":[[k,v],...]}             Map
    {"$":"set","v":[...]}                   Set
    {"$":"bytes","t":"Uint8Array","v":"…"}  bytes in base64; t names the JavaScript class
    {"$":"regexp","v":"a+","flags":"g"}     RegExp
    {"$":"error","v":{"name":…,"message":…}}  also cause (a value), dom (true: a DOMException)
    {"$":"object","v":[[key,value],...]}    a plain object that has a key "$" itself
    {"$":"ref","v":3}                       the container met third (counting from 0, in reading order): a cycle

bindings/javascript/codec.mjs writes and reads the same text; tests/unit/bindings/vectors.json holds both to it.
What Python cannot tell apart (undefined and null, Map and object) becomes the nearest Python value.
"""

from __future__ import annotations

from bindings.decoding import copy as copy
from bindings.decoding import decode as decode
from bindings.encoding import MAX_DEPTH as MAX_DEPTH
from bindings.encoding import encode as encode
from bindings.shapes import EMPTY_OBJECT_TEXT as EMPTY_OBJECT_TEXT
from bindings.shapes import NULL_TEXT as NULL_TEXT
from bindings.shapes import SAFE_INTEGER as SAFE_INTEGER
from bindings.shapes import UNDEFINED_TEXT as UNDEFINED_TEXT
from bindings.shapes import Encoded as Encoded
from bindings.shapes import JsDict as JsDict
from bindings.shapes import JsMap as JsMap
from bindings.shapes import JsNull as JsNull
from bindings.shapes import Value as Value
from bindings.shapes import jsnull as jsnull
from bindings.times import datetime_ms as datetime_ms
from bindings.times import iso as iso
from bindings.times import ms_datetime as ms_datetime
