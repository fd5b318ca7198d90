package backup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Asked is what a user asks for. Its Job has it as an annotation, by which the same command finds the Job again.
type Asked struct {
	URL       string `json:"url"`           // Destination.URL
	In        string `json:"in,omitempty"`  // the same of the prefix in which the backup gets a new folder
	Run       string `json:"run,omitempty"` // the run of a schedule or a pipeline that asks; each run makes one backup
	Does      Work   `json:"does,omitempty"`
	Backup    string `json:"backup,omitempty"` // the name of the Backup that a restore, a verification or a deletion was asked for with
	UID       string `json:"uid,omitempty"`    // of the Backup that is verified or deleted
	DB        string `json:"db,omitempty"`
	Table     string `json:"table,omitempty"`
	Secret    string `json:"secret,omitempty"`
	Account   string `json:"serviceAccount,omitempty"`
	RateLimit uint   `json:"rateLimit,omitempty"`
	Checksum  *bool  `json:"checksum,omitempty"`
	Image     string `json:"image,omitempty"`
	// Deadline is how many seconds after its begin Kubernetes ends the Job. Zero is no limit.
	Deadline int64 `json:"deadline,omitempty"`
}

// runName is what the name of a run consists of.
var runName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// IsRunName reports whether a text can name a run.
func IsRunName(text string) bool { return runName.MatchString(text) }

// SplitTable returns the database and the name of a table that is given as DATABASE.TABLE.
func SplitTable(text string) (db, table string, err error) {
	db, table, _ = strings.Cut(text, ".")
	if db == "" || table == "" || strings.Contains(table, ".") {
		return "", "", fmt.Errorf("%q is not DATABASE.TABLE", text)
	}
	return db, table, nil
}

// Scope says what is saved or restored, in a user's words.
func (a Asked) Scope() string {
	switch {
	case a.Table != "":
		return "table " + a.DB + "." + a.Table
	case a.DB != "":
		return "database " + a.DB
	case a.Does != Saves:
		return "all data of the backup"
	}
	return "all data"
}

// As returns what a command asks for with the name of a Backup, as an earlier command has asked for it. What the command
// does not say is taken from there.
func (a Asked) As(was Asked) Asked {
	if a.Backup == "" {
		return a
	}
	a.URL = was.URL
	if a.DB == "" {
		a.DB, a.Table = was.DB, was.Table
	}
	if a.Secret == "" && a.Account == "" {
		a.Secret, a.Account = was.Secret, was.Account
	}
	return a
}

// Command returns the command that asks for this.
func (a Asked) Command(c topology.Cluster) remedy.Command {
	words := []string{"backup", "create", c.Name, "--to", a.URL}
	if a.In != "" {
		words = []string{"backup", "create", c.Name, "--in", a.In}
	}
	switch a.Does {
	case Restores:
		words = []string{"restore", c.Name, "--from", cmp.Or(a.Backup, a.URL)}
	case Verifies:
		words = []string{"backup", "verify", a.Backup, "--cluster", c.Name}
	case Lists, Deletes:
		words = []string{"backup", "delete", a.Backup, "--files", "--cluster", c.Name}
	}
	switch {
	case a.Table != "":
		words = append(words, "--table", a.DB+"."+a.Table)
	case a.DB != "":
		words = append(words, "--db", a.DB)
	}
	for _, flag := range [][2]string{{"--run", a.Run}, {"--from-secret", a.Secret}, {"--service-account", a.Account}, {"--image", a.Image}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	if a.RateLimit > 0 {
		words = append(words, "--rate-limit", strconv.FormatUint(uint64(a.RateLimit), 10))
	}
	if a.Checksum != nil {
		words = append(words, "--checksum="+strconv.FormatBool(*a.Checksum))
	}
	if a.Deadline > 0 {
		words = append(words, "--deadline", (time.Duration(a.Deadline) * time.Second).String())
	}
	return remedy.Plugin(c.Namespace, words...)
}

// text is the annotation.
func (a Asked) text() string {
	text, err := json.Marshal(a)
	if err != nil { // it has only texts and numbers
		return ""
	}
	return string(text)
}

// readAsked reads the annotation.
func readAsked(text string) (a Asked, ok bool) {
	err := json.Unmarshal([]byte(text), &a)
	return a, err == nil && a.URL != ""
}
