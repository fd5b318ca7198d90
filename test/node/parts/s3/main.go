// Command s3 is a server of S3 for tests, which keeps all objects in memory. It has one bucket, and takes requests that
// are signed with one access key.
package main

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// What the server is configured with, and what it takes without that.
const (
	addressVariable, defaultAddress     = "S3_ADDRESS", ":9000"
	bucketVariable, defaultBucket       = "S3_BUCKET", "backups"
	accessKeyVariable, defaultAccessKey = "S3_ACCESS_KEY", "access"
	secretKeyVariable, defaultSecretKey = "S3_SECRET_KEY", "secret"
)

func main() {
	log.SetFlags(log.Ldate | log.Lmicroseconds)
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "s3:", err)
		os.Exit(1)
	}
}

func run() error {
	objects := s3mem.New()
	bucket := setting(bucketVariable, defaultBucket)
	if err := objects.CreateBucket(bucket); err != nil {
		return fmt.Errorf("make the bucket %q: %w", bucket, err)
	}
	keys := credentials{access: setting(accessKeyVariable, defaultAccessKey), secret: setting(secretKeyVariable, defaultSecretKey)}
	if keys.access == "" || keys.secret == "" {
		return errors.New("an empty key would let everybody in")
	}
	server := &http.Server{
		Addr:              setting(addressVariable, defaultAddress),
		Handler:           logged(keys.required(gofakes3.New(objects).Server())),
		ReadHeaderTimeout: 10 * time.Second,
	}
	log.Printf("bucket %s at %s, access key %s", bucket, server.Addr, keys.access)
	return server.ListenAndServe()
}

func setting(name, otherwise string) string {
	if value, found := os.LookupEnv(name); found {
		return value
	}
	return otherwise
}

// logged writes a line for each request.
func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		answer := &coded{ResponseWriter: out, code: http.StatusOK}
		next.ServeHTTP(answer, request)
		log.Printf("%d %s %s", answer.code, request.Method, request.URL.Path)
	})
}

// coded remembers the code of an answer.
type coded struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (c *coded) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}
