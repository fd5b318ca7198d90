package database

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
)

type ordinalKey struct{}

func withOrdinal(ctx context.Context, ordinal int) context.Context {
	return context.WithValue(ctx, ordinalKey{}, ordinal)
}

// ordinalOf returns the ordinal of the member that is asked.
func ordinalOf(r *http.Request) int {
	n, _ := r.Context().Value(ordinalKey{}).(int)
	return n
}

type object = map[string]any

// answer writes JSON.
func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// text writes a text as it is.
func text(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

// read decodes the body of a request, and answers with 400 where it cannot.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(r.Body).Decode(into)
	if err != nil {
		answer(w, http.StatusBadRequest, err.Error())
	}
	return err == nil
}

// idOf returns the id in the path of a request, and answers with 400 where there is none.
func idOf(w http.ResponseWriter, r *http.Request) (uint64, bool) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil {
		answer(w, http.StatusBadRequest, err.Error())
	}
	return id, err == nil
}
