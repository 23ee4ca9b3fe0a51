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
    {"$":"view","t":"Uint8Array","v":…,"at":1,"n":2}  a view of `n` bytes of a buffer `v`
    {"$":"buffer","v":0}                    the buffer of the leaf number 0, or that leaf itself
    {"$":"regexp","v":"a+","flags":"g"}     RegExp
    {"$":"error","v":{"name":…,"message":…}}  also cause (a value), dom (true: a DOMException)
    {"$":"object","v":[[key,value],...]}    a plain object that has a key "$" itself
    {"$":"array","n":3,"v":[["0",1],["2",3]]}  an array with holes, or with fields beside its items
    {"$":"boxed","v":1}                     new Number(1), and other primitives as objects
    {"$":"ref","v":3}                       the container number 3 (from 0, in reading order) once more
    {"$":"same","v":3}                      the leaf number 3 once more

Containers are lists, objects, Maps and Sets; leaves are Dates, bytes, views, regular expressions, errors and boxed
values. The two are counted apart. A reference inside of what it names is a cycle.

bindings/javascript/codec.mjs writes and reads the same text; tests/unit/bindings/values/vectors.json holds both
to it.
What Python cannot tell apart (undefined and null, Map and object) becomes the nearest Python value.
"""

from __future__ import annotations

from stepwell.bindings.values.decoding import copy as copy
from stepwell.bindings.values.decoding import decode as decode
from stepwell.bindings.values.decoding import decode_arguments as decode_arguments
from stepwell.bindings.values.decoding import has_cycle as has_cycle
from stepwell.bindings.values.encoding import MAX_DEPTH as MAX_DEPTH
from stepwell.bindings.values.encoding import encode as encode
from stepwell.bindings.values.shapes import EMPTY_OBJECT_TEXT as EMPTY_OBJECT_TEXT
from stepwell.bindings.values.shapes import NULL_TEXT as NULL_TEXT
from stepwell.bindings.values.shapes import SAFE_INTEGER as SAFE_INTEGER
from stepwell.bindings.values.shapes import UNDEFINED_TEXT as UNDEFINED_TEXT
from stepwell.bindings.values.shapes import Encoded as Encoded
from stepwell.bindings.values.shapes import JsDict as JsDict
from stepwell.bindings.values.shapes import JsMap as JsMap
from stepwell.bindings.values.shapes import JsNull as JsNull
from stepwell.bindings.values.shapes import JsOther as JsOther
from stepwell.bindings.values.shapes import Value as Value
from stepwell.bindings.values.shapes import jsnull as jsnull
from stepwell.bindings.values.times import datetime_ms as datetime_ms
from stepwell.bindings.values.times import iso as iso
from stepwell.bindings.values.times import ms_datetime as ms_datetime
