package main

import (
	"bytes"
	"encoding/binary"
)

// The functions here write protobuf messages for models that the fixtures do not have.

func varint(v uint64) []byte { return binary.AppendUvarint(nil, v) }

func varintField(number int, v uint64) []byte {
	return append(varint(uint64(number)<<3), varint(v)...)
}

func bytesField(number int, payload []byte) []byte {
	return append(append(varint(uint64(number)<<3|2), varint(uint64(len(payload)))...), payload...)
}

func message(fields ...[]byte) []byte { return bytes.Join(fields, nil) }
