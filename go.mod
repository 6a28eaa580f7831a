module github.com/espalier-ane/espalier

go 1.26.0

require (
	github.com/alecthomas/kong v1.16.1
	github.com/google/flatbuffers v25.12.19+incompatible
	github.com/klauspost/cpuid/v2 v2.4.1
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/image v0.47.0
	golang.org/x/sys v0.49.0
	google.golang.org/protobuf v1.36.12
	howett.net/plist v1.0.1
)

require golang.org/x/tools v0.26.0 // indirect
