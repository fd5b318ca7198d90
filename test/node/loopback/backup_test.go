//go:build linux

package loopback

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/build"
)

var processes = flag.Bool("processes", false, "start PD, TiKV, TiDB and an S3 server, and compile them if need be")

// TestBackup brings rows back with the real br, from S3 and from a folder.
func TestBackup(t *testing.T) {
	if !*processes {
		t.Skip("starts processes only with -processes")
	}
	d := start(t, certificates{})
	d.fill(t)
	d.spread(t)
	before := d.contents(t)
	// What comes after a restore that failed would fail, too.
	step := func(name string, run func(*testing.T)) {
		if !t.Run(name, run) {
			t.FailNow()
		}
	}
	step("full", func(t *testing.T) {
		d.br(t, "backup", "full", d.s3Storage("full"))
		d.exec(t, "DROP DATABASE shop", "DROP DATABASE other")
		d.br(t, "restore", "full", d.s3Storage("full"))
		d.holds(t, before)
		d.goesOn(t)
	})
	d.exec(t, "DELETE FROM shop.orders WHERE note = 'after'")
	step("one database", func(t *testing.T) {
		d.br(t, "backup", "db", "--db=shop", d.s3Storage("db"))
		d.exec(t, "DROP DATABASE shop")
		d.br(t, "restore", "db", "--db=shop", d.s3Storage("db"))
		d.holds(t, before)
	})
	step("one table", func(t *testing.T) {
		d.br(t, "backup", "table", "--db=shop", "--table=orders", d.s3Storage("table"))
		d.exec(t, "DROP TABLE shop.orders")
		d.br(t, "restore", "table", "--db=shop", "--table=orders", d.s3Storage("table"))
		d.holds(t, before)
	})
	step("one table of a full backup", func(t *testing.T) {
		d.exec(t, "DROP TABLE shop.orders", "UPDATE other.kept SET v = 5")
		d.br(t, "restore", "table", "--db=shop", "--table=orders", d.s3Storage("full"))
		if changed := d.rows(t, "SELECT * FROM other.kept"); changed != "1 5\n2 5\n" {
			t.Errorf("the restore of one table changes another: %s", changed)
		}
		d.exec(t, "UPDATE other.kept SET v = id * 10")
		d.holds(t, before)
	})
	step("a folder", func(t *testing.T) {
		folder := filepath.Join(d.folder, "backup")
		d.br(t, "backup", "full", "--storage=local://"+folder)
		d.exec(t, "DROP DATABASE shop", "DROP DATABASE other")
		d.br(t, "restore", "full", "--storage=local://"+folder)
		d.holds(t, before)
		d.fromSeveral(t, folder)
		if output, err := d.try(t, secretKey, "debug", "checksum", "--storage=local://"+folder); err != nil || !strings.Contains(output, "\nbackup data checksum succeed!") {
			t.Errorf("br finds a backup damaged: %v\n%s", err, output)
		}
		d.damaged(t, folder)
	})
	step("twice", func(t *testing.T) {
		d.exec(t, "DROP DATABASE shop", "DROP DATABASE other")
		d.br(t, "restore", "full", d.s3Storage("full"))
		d.holds(t, before)
		d.br(t, "restore", "full", d.s3Storage("full"))
		d.holds(t, before)
	})
	step("other keys", func(t *testing.T) {
		output, err := d.try(t, "other", "backup", "full", d.s3Storage("other"))
		if err == nil || !strings.Contains(output, "403") {
			t.Errorf("br with another secret key: %v\n%s", err, output)
		}
	})
}

// TestBackupWithTLS does so with TLS between all members.
func TestBackupWithTLS(t *testing.T) {
	if !*processes {
		t.Skip("starts processes only with -processes")
	}
	d := start(t, newCertificates(t))
	d.fill(t)
	before := d.contents(t)
	d.br(t, "backup", "full", d.s3Storage("full"))
	d.exec(t, "DROP DATABASE shop", "DROP DATABASE other")
	d.br(t, "restore", "full", d.s3Storage("full"))
	d.holds(t, before)
}

// fill makes tables with all that a restore has to bring back.
func (d *database) fill(t *testing.T) {
	t.Helper()
	d.exec(t, "CREATE DATABASE shop", "CREATE DATABASE other",
		`CREATE TABLE shop.orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, note VARCHAR(64),
			KEY by_customer (customer)) PARTITION BY HASH (id) PARTITIONS 3`,
		"CREATE TABLE shop.customers (id INT PRIMARY KEY, name VARCHAR(32), UNIQUE KEY by_name (name))",
		"CREATE VIEW shop.totals AS SELECT customer, COUNT(*) AS orders FROM shop.orders GROUP BY customer",
		"CREATE TABLE other.kept (id INT PRIMARY KEY, v INT)",
		"INSERT INTO other.kept VALUES (1, 10), (2, 20)")
	const count, customers = 2000, 7
	var orders, names []string
	for i := range count {
		orders = append(orders, fmt.Sprintf("(%d, 'order %d')", i%customers, i))
	}
	for i := range customers {
		names = append(names, fmt.Sprintf("(%d, 'customer %d')", i, i))
	}
	d.exec(t, "INSERT INTO shop.orders (customer, note) VALUES "+strings.Join(orders, ", "),
		"INSERT INTO shop.customers VALUES "+strings.Join(names, ", "))
}

// contents reads the tables by rows, by each index, and by the view.
func (d *database) contents(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, query := range []string{
		"SELECT * FROM shop.orders ORDER BY id", "SELECT * FROM shop.customers ORDER BY id",
		"SELECT id FROM shop.orders USE INDEX (by_customer) WHERE customer = 3 ORDER BY id",
		"SELECT id FROM shop.customers USE INDEX (by_name) WHERE name > 'customer 2' ORDER BY id",
		"SELECT COUNT(*) FROM shop.orders PARTITION (p1)", "SELECT * FROM shop.totals ORDER BY customer",
		"SELECT * FROM other.kept ORDER BY id",
	} {
		rows := d.rows(t, query)
		if strings.Count(rows, "\n") == 0 {
			t.Fatalf("%s: no rows", query)
		}
		all.WriteString(query + "\n" + rows)
	}
	return all.String()
}

// holds checks that the database is as it was, with indexes that fit the rows.
func (d *database) holds(t *testing.T, before string) {
	t.Helper()
	if now := d.contents(t); now != before {
		t.Errorf("the contents have changed, from %d to %d bytes", len(before), len(now))
	}
	d.exec(t, "ADMIN CHECK TABLE shop.orders", "ADMIN CHECK TABLE shop.customers", "ADMIN CHECK TABLE other.kept")
}

// goesOn checks that a new row gets a number that no row has.
func (d *database) goesOn(t *testing.T) {
	t.Helper()
	d.exec(t, "INSERT INTO shop.orders (customer, note) VALUES (1, 'after')")
	if last := d.rows(t, "SELECT note FROM shop.orders ORDER BY id DESC LIMIT 1"); last != "after\n" {
		t.Errorf("the last row is %q", last)
	}
}

// fromSeveral checks that more than one store has written files, whose names begin with the number of the store.
func (d *database) fromSeveral(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_write.sst"))
	if err != nil {
		t.Fatal(err)
	}
	writers := map[string]bool{}
	for _, file := range files {
		store, _, _ := strings.Cut(filepath.Base(file), "_")
		writers[store] = true
	}
	if len(writers) < 2 {
		t.Errorf("the stores %v have written %v", writers, files)
	}
}

// damaged checks that br finds one other byte in the values of a backup.
func (d *database) damaged(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_write.sst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	changed := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if other := strings.Replace(string(content), "order 77", "order 78", 1); other != string(content) && changed == 0 {
			changed++
			if err := os.WriteFile(file, []byte(other), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if changed != 1 {
		t.Fatal("no file has the row")
	}
	d.exec(t, "DROP DATABASE shop", "DROP DATABASE other")
	output, err := d.try(t, secretKey, "debug", "checksum", "--storage=local://"+folder)
	if err == nil || !strings.Contains(output, "backup data checksum failed") {
		t.Errorf("br finds a damaged backup intact: %v\n%s", err, output)
	}
	output, err = d.try(t, secretKey, "restore", "full", "--storage=local://"+folder)
	if err == nil || !strings.Contains(strings.ToLower(output), "checksum") {
		t.Errorf("br restores a damaged backup: %v\n%s", err, output)
	}
}

func (d *database) s3Storage(prefix string) string {
	return fmt.Sprintf("--storage=s3://%s/%s?endpoint=http://%s&force-path-style=true", bucket, prefix, d.s3)
}

// br runs br, which has to succeed.
func (d *database) br(t *testing.T, arguments ...string) {
	t.Helper()
	if output, err := d.try(t, secretKey, arguments...); err != nil {
		t.Fatalf("br %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
}

// try runs br with a secret key.
func (d *database) try(t *testing.T, secret string, arguments ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	started := time.Now()
	program, flags := d.programs[build.Versioned(build.BR, build.OldVersion)], append(d.tls.flags("ca"), "--pd="+d.pd)
	command := exec.CommandContext(ctx, program, append(arguments, flags...)...)
	command.Dir = d.folder
	command.Env = append(os.Environ(), "BR_LOG_TO_TERM=1", "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secret)
	output, err := command.CombinedOutput()
	t.Logf("br %s took %s", strings.Join(arguments[:2], " "), time.Since(started).Round(time.Second/10))
	return string(output[max(0, len(output)-8000):]), err
}

func (d *database) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := d.sql.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%.80s: %v", statement, err)
		}
	}
}

// rows returns the rows of a query, one a line.
func (d *database) rows(t *testing.T, query string) string {
	t.Helper()
	found, err := d.sql.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%.80s: %v", query, err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	fields := make([]any, len(columns))
	for i := range fields {
		fields[i] = new(string)
	}
	for found.Next() {
		if err := found.Scan(fields...); err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, field := range fields {
			words = append(words, *field.(*string))
		}
		fmt.Fprintln(&all, strings.Join(words, " "))
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
