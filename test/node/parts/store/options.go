package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// options is what the store takes from TiKV's command line.
type options struct {
	pd              []string
	address         string
	advertise       string
	status          string
	advertiseStatus string
	dataDir         string
	config          string
	logLevel        string
	logFile         string
	capacity        uint64
	labels          map[string]string
	printVersion    bool
	checkOnly       bool

	// What only TiFlash has: another address for other stores, one for queries, a port for metrics, and more logs.
	peer       string
	service    string
	metrics    string
	otherFiles []string
}

// shortNames are TiKV's one-letter flags.
var shortNames = map[string]string{
	"A": "addr", "C": "config", "L": "log-level", "f": "log-file", "s": "data-dir", "V": "version",
}

// switches are the flags of TiKV that take no value.
var switches = map[string]bool{
	"version": true, "config-check": true, "print-sample-config": true,
}

// parseOptions reads TiKV's command line. Flags that the store has no use for are accepted: start scripts are written
// for the real program, and this one must not fail where that one would not.
func parseOptions(arguments []string) (options, error) {
	parsed := options{
		address: "127.0.0.1:20160", status: "127.0.0.1:20180", dataDir: "./", logLevel: "info", labels: map[string]string{},
	}
	for len(arguments) > 0 {
		name, value, rest, err := nextFlag(arguments)
		if err != nil {
			return parsed, err
		}
		arguments = rest
		if err := parsed.set(name, value); err != nil {
			return parsed, err
		}
	}
	if parsed.advertise == "" {
		parsed.advertise = parsed.address
	}
	if parsed.advertiseStatus == "" {
		parsed.advertiseStatus = parsed.status
	}
	return parsed, nil
}

// nextFlag takes a flag and its value, which is in the same word after "=" or in the next word.
func nextFlag(arguments []string) (name, value string, rest []string, err error) {
	word, rest := arguments[0], arguments[1:]
	if !strings.HasPrefix(word, "-") || strings.Trim(word, "-") == "" {
		return "", "", nil, fmt.Errorf("unexpected argument %q", word)
	}
	name = strings.TrimLeft(word, "-")
	if at := strings.Index(name, "="); at >= 0 {
		name, value = name[:at], name[at+1:]
		return longName(name), value, rest, nil
	}
	name = longName(name)
	if switches[name] {
		return name, "true", rest, nil
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return "", "", nil, fmt.Errorf("flag --%s needs a value", name)
	}
	return name, rest[0], rest[1:], nil
}

func longName(name string) string {
	if long, short := shortNames[name]; short {
		return long
	}
	return name
}

func (o *options) set(name, value string) (err error) {
	switch name {
	case "pd", "pd-endpoints":
		o.pd = append(o.pd, strings.Split(value, ",")...)
	case "addr":
		o.address = value
	case "advertise-addr":
		o.advertise = value
	case "status-addr":
		o.status = value
	case "advertise-status-addr":
		o.advertiseStatus = value
	case "data-dir":
		o.dataDir = value
	case "config":
		// A missing file is an error for TiKV, too.
		o.config = value
		_, err = os.Stat(value)
	case "log-level":
		o.logLevel = strings.ToLower(value)
	case "log-file":
		o.logFile = value
	case "capacity":
		o.capacity, err = parseSize(value)
	case "labels":
		err = o.addLabels(value)
	case "version":
		o.printVersion = true
	case "config-check":
		o.checkOnly = true
	}
	return err
}

func (o *options) addLabels(value string) error {
	for _, pair := range strings.Split(value, ",") {
		parts := strings.SplitN(pair, "=", 2)
		if len(parts) != 2 {
			return fmt.Errorf("label %q is not of the form key=value", pair)
		}
		o.labels[parts[0]] = parts[1]
	}
	return nil
}

// parseSize reads sizes as TiKV does, where KB and KiB both mean 1024 bytes. Zero means no limit.
func parseSize(text string) (uint64, error) {
	trimmed := strings.TrimSpace(text)
	digits := strings.TrimRight(trimmed, "KMGTPEiBkb ")
	number, err := strconv.ParseFloat(digits, 64)
	if err != nil || number < 0 {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	unit := strings.ToUpper(strings.TrimSpace(strings.TrimPrefix(trimmed, digits)))
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	power := 0
	if unit != "" {
		power = strings.Index("KMGTPE", unit) + 1
	}
	if len(unit) > 1 || (unit != "" && power == 0) {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	for ; power > 0; power-- {
		number *= 1024
	}
	return uint64(number), nil
}
