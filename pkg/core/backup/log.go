package backup

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Log is what BR has written so far, as far as it matters here.
type Log struct {
	// Progress is the last report of BR, which it makes every two minutes.
	Progress Progress
	// Ranges is how many ranges of keys are saved.
	Ranges int
	// Files is how many files of a backup are read, to verify it.
	Files int
	// SafePoint is the service safepoint by which BR keeps PD from garbage collection, "" before BR has made it. BR does not
	// name that of a restore.
	SafePoint string
	// TS is the timestamp of TiDB whose data is saved.
	TS uint64
	// Size is how many bytes were written, and Sized whether BR says so. It does not where there was nothing to save.
	Size  int64
	Sized bool
	// Succeeded: BR says so itself at its end. It does not after a signal, although its exit code is 0 then.
	Succeeded bool
	// Error is the last error. It is in the words of BR.
	Error string
	// errorFollows: the next line has the error, because its text begins with a new line.
	errorFollows bool
}

// Progress is how far BR is. BR gives its rate and the remaining time as texts.
type Progress struct {
	Step, Percent, Count, Speed, Elapsed, Remaining string
}

// Line says how far BR is, "" where it has not said so yet.
func (l Log) Line() string {
	p := l.Progress
	if p.Percent == "" {
		if l.Ranges > 0 {
			return remedy.Count(l.Ranges, "range of keys is saved", "ranges of keys are saved")
		}
		if l.Files > 0 {
			return remedy.Count(l.Files, "file is read", "files are read")
		}
		return ""
	}
	text := p.Step + ": " + p.Percent
	if p.Count != "" {
		text += " (" + p.Count + ")"
	}
	for _, more := range [][2]string{{"rate", p.Speed}, {"elapsed", p.Elapsed}, {"remaining", p.Remaining}} {
		if more[1] != "" && !strings.HasPrefix(more[1], "?") {
			text += ", " + more[0] + " " + more[1]
		}
	}
	return text
}

// Time returns the moment whose data is saved; zero before BR has said so.
func (l Log) Time() time.Time {
	if l.TS == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(l.TS >> logical)).UTC() //nolint:gosec // a timestamp has 63 bits
}

var (
	safePointID = regexp.MustCompile(`br-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	safePointTS = regexp.MustCompile(`BackupTS=(\d+)`)
)

// said is how BR begins the line with which it ends after an error.
const said = "Error: "

// verified is how BR ends when all files of a backup are as they were written.
const verified = "backup data checksum succeed"

// Add reads one more line.
func (l *Log) Add(line string) {
	line = strings.TrimRight(line, "\r\n")
	text, says := strings.CutPrefix(line, strings.TrimSpace(said))
	e, ok := parseEntry(line)
	switch text = strings.TrimSpace(text); {
	case says && text != "":
		l.Error = text
	case says:
		l.errorFollows = true
	case l.errorFollows && text != "":
		l.Error, l.errorFollows = text, false
	case strings.HasPrefix(line, verified):
		l.Succeeded = true
	case !ok:
	case e.message == "file info":
		l.Files++
	case e.message == "progress":
		l.Progress = Progress{
			Step: e.fields["step"], Percent: e.fields["progress"], Count: e.fields["count"],
			Speed: e.fields["speed"], Elapsed: e.fields["elapsed"], Remaining: e.fields["remaining"],
		}
	case e.message == "backup range finished":
		l.Ranges++
	case e.message == "current backup safePoint job":
		l.SafePoint = safePointID.FindString(e.fields["safePoint"])
		if found := safePointTS.FindStringSubmatch(e.fields["safePoint"]); found != nil {
			l.TS, _ = strconv.ParseUint(found[1], 10, 64)
		}
	case strings.Contains(e.message, " summary"):
		l.summary(e)
	case e.level == "ERROR" || e.level == "FATAL" || e.level == "PANIC":
		l.Error = strings.TrimSpace(e.message + " " + e.fields["error"])
	}
}

// summary reads the last entry of BR. The words differ between releases, their fields and the word "success" do not.
func (l *Log) summary(e entry) {
	if strings.Contains(strings.ToLower(e.message), "success summary") {
		l.Succeeded = true
	}
	if size, err := strconv.ParseInt(e.fields["Size"], 10, 64); err == nil {
		l.Size, l.Sized = size, true
	}
	if ts, err := strconv.ParseUint(e.fields["BackupTS"], 10, 64); err == nil {
		l.TS = ts
	}
}

// entry is a line of the log format of TiDB: [time] [LEVEL] [file:line] [message] [key=value]…
type entry struct {
	level, message string
	fields         map[string]string
}

// parseEntry reads a line; not ok where it is no entry, such as the lines of a stack.
func parseEntry(line string) (entry, bool) {
	parts := brackets(line)
	if len(parts) < 4 {
		return entry{}, false
	}
	e := entry{level: parts[1], message: unquoted(parts[3]), fields: map[string]string{}}
	for _, p := range parts[4:] {
		if i := outside(p, '='); i > 0 {
			e.fields[unquoted(p[:i])] = unquoted(p[i+1:])
		}
	}
	return e, true
}

// brackets returns what is in each pair of brackets of a line. Brackets in quotes are text.
func brackets(line string) []string {
	var all []string
	for strings.HasPrefix(line, "[") {
		end := outside(line, ']')
		if end < 0 {
			break
		}
		all = append(all, line[1:end])
		line = strings.TrimLeft(line[end+1:], " ")
	}
	return all
}

// outside returns where a character is for the first time outside of quotes, -1 if it is nowhere.
func outside(text string, char byte) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && text[i] == char:
			return i
		}
	}
	return -1
}

func unquoted(text string) string {
	if inner, err := strconv.Unquote(text); err == nil && strings.HasPrefix(text, `"`) {
		return inner
	}
	return strings.Trim(text, `"`)
}

// EndVersion returns the timestamp that BR has read from the backup, 0 where the line has none. BR prints the timestamp
// alone in a line, between lines of its log.
func EndVersion(line string) uint64 {
	ts, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0
	}
	return ts
}
