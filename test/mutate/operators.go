package main

import (
	"go/ast"
	"go/token"
	"strconv"
)

// swaps are operators and what stands for them in a mutant.
var swaps = map[token.Token]token.Token{
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.ADD: token.SUB, token.SUB: token.ADD,
}

// function walks a function's body. What it returns is changed only where the
// signature says that it is a bool: types are not resolved here.
func (f *finder) function(t *ast.FuncType, body *ast.BlockStmt) {
	var bools []bool
	if t.Results != nil {
		for _, r := range t.Results.List {
			id, ok := r.Type.(*ast.Ident)
			for range max(1, len(r.Names)) {
				bools = append(bools, ok && id.Name == "bool")
			}
		}
	}
	f.walk(body, bools)
	if n := len(body.List); n > 0 {
		// An early return is what may be missing; the last one may not.
		for _, s := range body.List[:n-1] {
			f.statement(s)
		}
		if _, last := body.List[n-1].(*ast.ReturnStmt); !last {
			f.statement(body.List[n-1])
		}
	}
}

// walk visits everything below n. Function literals are functions of their own.
func (f *finder) walk(n ast.Node, bools []bool) {
	body := n
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.function(n.Type, n.Body)
			return false
		case *ast.BlockStmt:
			if n != body {
				f.statements(n.List)
			}
		case *ast.ReturnStmt:
			f.returns(n, bools)
		case *ast.SwitchStmt:
			f.cases(n.Body, n.Tag == nil)
		case *ast.TypeSwitchStmt:
			f.cases(n.Body, false)
		case *ast.IfStmt:
			f.negate(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil {
				f.negate(n.Cond)
			}
		case *ast.Ident:
			f.flip(n)
		case ast.Expr:
			f.expression(n)
		}
		return true
	})
}

func (f *finder) expression(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		f.binary(e)
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok && (id.Name == "min" || id.Name == "max") {
			f.replace(id.Pos(), id.End(), map[string]string{"min": "max", "max": "min"}[id.Name])
		}
	case *ast.IndexExpr:
		f.more(e.Index)
	case *ast.CompositeLit:
		f.drop(e.Elts)
	}
}

func (f *finder) binary(e *ast.BinaryExpr) {
	if other, ok := swaps[e.Op]; ok {
		f.replace(e.OpPos, e.OpPos+token.Pos(len(e.Op.String())), other.String())
	}
	switch e.Op {
	case token.LAND, token.LOR:
		f.replace(e.Pos(), e.Y.Pos(), "")
		f.replace(e.X.End(), e.End(), "")
	case token.MUL: // a duration, and what is long enough is a matter of taste
	default:
		f.more(e.X)
		f.more(e.Y)
	}
}

// more turns a number into the next one.
func (f *finder) more(e ast.Expr) {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.INT {
		if n, err := strconv.Atoi(lit.Value); err == nil {
			f.replace(e.Pos(), e.End(), strconv.Itoa(n+1))
		}
	}
}

// flip turns a constant into the other one.
func (f *finder) flip(id *ast.Ident) {
	switch id.Name {
	case "true":
		f.replace(id.Pos(), id.End(), "false")
	case "false":
		f.replace(id.Pos(), id.End(), "true")
	}
}

// negate turns a condition round. Where an operator's swap does that already,
// it is the same mutant.
func (f *finder) negate(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.EQL || e.Op == token.NEQ {
			return
		}
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			f.replace(e.Pos(), e.X.Pos(), "")
			return
		}
	case *ast.Ident:
		if e.Name == "true" || e.Name == "false" {
			return
		}
	}
	f.replace(e.Pos(), e.End(), "!("+f.textOf(e)+")")
}

func (f *finder) returns(r *ast.ReturnStmt, bools []bool) {
	for i, e := range r.Results {
		f.more(e)
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text := `""`
			if lit.Value == text {
				text = `"mutant"`
			}
			f.replace(e.Pos(), e.End(), text)
		}
		if i < len(bools) && bools[i] {
			f.negate(e)
		}
	}
}

// cases drops clauses of a switch, and what one of them lists.
func (f *finder) cases(body *ast.BlockStmt, conditions bool) {
	for _, s := range body.List {
		c := s.(*ast.CaseClause)
		f.replace(c.Pos(), c.End(), "")
		if len(c.List) > 1 {
			f.drop(c.List)
		}
		if conditions {
			for _, e := range c.List {
				f.negate(e)
			}
		}
		f.statements(c.Body)
	}
}

func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		f.statement(s)
	}
}

// statement takes a statement away, or turns it into its counterpart.
func (f *finder) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return
		}
	case *ast.BranchStmt:
		switch s.Tok {
		case token.CONTINUE:
			f.replace(s.Pos(), s.Pos()+token.Pos(len("continue")), "break")
		case token.BREAK:
			f.replace(s.Pos(), s.Pos()+token.Pos(len("break")), "continue")
		}
	case *ast.DeferStmt:
		if id, ok := s.Call.Fun.(*ast.Ident); ok && id.Name == "cancel" {
			return // which go vet asks for (lostcancel), and no test can see
		}
	case *ast.IncDecStmt, *ast.ExprStmt, *ast.ReturnStmt:
	default:
		return
	}
	f.replace(s.Pos(), s.End(), "")
}

// drop takes elements out of a list, each with the comma that follows it.
func (f *finder) drop(list []ast.Expr) {
	for i, e := range list {
		if constant(e) {
			continue // which is what flip does
		}
		end := e.End()
		switch {
		case i+1 < len(list):
			end = list[i+1].Pos()
		default:
			if at := f.fset.Position(end).Offset; at < len(f.source) && f.source[at] == ',' {
				end++
			}
		}
		from := e.Pos()
		if i > 0 && i+1 == len(list) && end == e.End() {
			from = list[i-1].End() // the last one, and the comma before it
		}
		f.replace(from, end, "")
	}
}

// constant: a field that is true or false. Without it, it would be false.
func constant(e ast.Expr) bool {
	kv, ok := e.(*ast.KeyValueExpr)
	if !ok {
		return false
	}
	id, ok := kv.Value.(*ast.Ident)
	return ok && (id.Name == "true" || id.Name == "false")
}
