package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// signed is the example of a request with a signature in the documentation of S3.
func signed() *http.Request {
	request := httptest.NewRequest(http.MethodGet, "http://examplebucket.s3.amazonaws.com/test.txt", nil)
	request.RequestURI = "/test.txt"
	request.Header.Set("Range", "bytes=0-9")
	request.Header.Set("X-Amz-Content-Sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
	request.Header.Set("X-Amz-Date", "20130524T000000Z")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 "+
		"Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"+
		"SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"+
		"Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
	return request
}

func TestCredentials(t *testing.T) {
	known := credentials{access: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	for name, test := range map[string]struct {
		keys   credentials
		change func(*http.Request)
		want   string
	}{
		"signed":                {keys: known},
		"without a signature":   {keys: known, change: func(r *http.Request) { r.Header.Del("Authorization") }, want: "AccessDenied"},
		"another method":        {keys: known, change: func(r *http.Request) { r.Method = http.MethodDelete }, want: "SignatureDoesNotMatch"},
		"another signed header": {keys: known, change: func(r *http.Request) { r.Header.Set("Range", "bytes=0-") }, want: "SignatureDoesNotMatch"},
		"another query":         {keys: known, change: func(r *http.Request) { r.URL.RawQuery = "acl=" }, want: "SignatureDoesNotMatch"},
		"another secret key":    {keys: credentials{known.access, "other"}, want: "SignatureDoesNotMatch"},
		"another access key":    {keys: credentials{"other", known.secret}, want: "InvalidAccessKeyId"},
	} {
		request, reached := signed(), false
		if test.change != nil {
			test.change(request)
		}
		answer := httptest.NewRecorder()
		test.keys.required(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true })).ServeHTTP(answer, request)
		if reached != (test.want == "") || !strings.Contains(answer.Body.String(), test.want) {
			t.Errorf("%s: let in: %t, answer %d %s", name, reached, answer.Code, answer.Body)
		}
		if !reached && answer.Code != http.StatusForbidden {
			t.Errorf("%s: code %d", name, answer.Code)
		}
	}
}
