//! What a shell would make of words, and what only a running one could.

use super::*;

fn words(text: &str) -> Vec<Vec<String>> {
    let mut vars = Vars::default();
    vars.set("HOME", Word::plain("/home/me"));
    let all = commands(text, &mut vars).expect("readable");
    all.iter().map(|s| s.words.iter().map(|w| w.text.clone()).collect()).collect()
}

#[test]
fn what_a_shell_does_to_words() {
    let cases: [(&str, &[&[&str]]); 14] = [
        ("a b\tc", &[&["a", "b", "c"]]),
        ("a \\\n  b \\ \n c", &[&["a", "b", "c"]]),
        ("a 'b c' \"d \\\" e\" f\\ g", &[&["a", "b c", "d \" e", "f g"]]),
        ("a --x='{\"m\": 1}' ''", &[&["a", "--x={\"m\": 1}", ""]]),
        ("a # no\nb #no", &[&["a"], &["b"]]),
        ("a b#c", &[&["a", "b#c"]]),
        ("a > log 2>&1 &\nb &> log; c 2>>e d | tee x", &[&["a"], &["b"], &["c", "d"], &["tee", "x"]]),
        ("M=x/y\na $M \"${M}z\" ${N:-q}", &[&["a", "x/y", "x/yz", "q"]]),
        ("A='1 2'; a $A \"$A\"", &[&["a", "1", "2", "1 2"]]),
        ("a ~/m ~ b~", &[&["a", "/home/me/m", "/home/me", "b~"]]),
        ("a \\\n  # why\n  b", &[&["a", "b"]]),
        ("a && b || c", &[&["a"], &["b"], &["c"]]),
        ("N=3\na $((8/2)) x$(( (N + 1) * 2 - 10 % 4 )) $((N / 0))", &[&["a", "4", "x6", ""]]),
        ("a `\n  b ^ \n  c", &[&["a", "b", "c"]]),
    ];
    for (text, expected) in cases {
        assert_eq!(words(text), expected, "{text}");
    }
}

#[test]
fn arrays_and_what_is_done_to_values() {
    let cases: [(&str, &[&[&str]]); 16] = [
        ("A=(1 '2 3'\n  # why\n  4)\na \"${A[@]}\" z", &[&["a", "1", "2 3", "4", "z"]]),
        ("A=()\nA+=(1)\nA+=(2 3)\na \"${A[@]}\"", &[&["a", "1", "2", "3"]]),
        ("A=()\na \"${A[@]}\" b", &[&["a", "b"]]),
        (
            "A=(1 2)\na \"x${A[@]}y\" \"${A[*]}\" ${A[@]} $A ${A[1]} ${#A[@]}",
            &[&["a", "x1", "2y", "1 2", "1", "2", "1", "2", "2"]],
        ),
        ("A=1; A+=\" 2\"; a $A; A=(3); a ${A[@]+\"${A[@]}\"}", &[&["a", "1", "2"], &["a", "3"]]),
        ("declare -a A=(1); local B=2; a \"${A[@]}\" $B", &[&["a", "1", "2"]]),
        (
            "M=org/x-7B.gguf; a ${M##*/} ${M#*/} ${M%.*} ${M%%-*} ${M%q}",
            &[&["a", "x-7B.gguf", "x-7B.gguf", "org/x-7B", "org/x", "org/x-7B.gguf"]],
        ),
        ("B=2; a ${A:-$B} ${C:-${B}3} ${D:=4} $D \"${E-'x y'}\"", &[&["a", "2", "23", "4", "4", "x y"]]),
        ("if [ 1 = 2 ]; then A=1; elif [[ 1 -lt 2 ]]; then A=2; else A=3; fi; a $A", &[&["a", "2"]]),
        ("D=0\nA=(1)\n[[ $D == 1 ]] && A+=(2)\n[ -z \"\" ] && A+=(3)\na ${A[@]}", &[&["a", "1", "3"]]),
        ("cat > x <<EOF\nvllm 'serve\nEOF\na b", &[&["cat"], &["a", "b"]]),
        ("cat <<-'E' | tee y\n\t(\n\tE\na <<< b", &[&["cat"], &["tee", "y"], &["a"]]),
        ("f() {\n a 1; }\n(a 2)", &[&["a", "1"], &["a", "2"]]),
        ("a `# MoE` b `# two` \\\n c", &[&["a", "b", "c"]]),
        ("M=org/m\na \"$(basename $M)\" `basename ${M}` $(basename \"x/y/\")", &[&["a", "m", "m", "y"]]),
        ("case x in\n a) A=1;;\n *) A=2;;\nesac\na ${A:-3}", &[&["a", "3"]]),
    ];
    for (text, expected) in cases {
        assert_eq!(words(text), expected, "{text}");
    }
}

#[test]
fn what_only_a_running_shell_knows_is_an_error() {
    let read = |text: &str| commands(text, &mut Vars::default());
    assert!(matches!(read("a $(nproc"), Err(InitError::Shell(_))));
    assert!(matches!(read("a `x"), Err(InitError::Shell(_))));
    assert!(matches!(read("a 'b"), Err(InitError::Shell(_))));
    assert!(matches!(read("vllm serve <your model>"), Err(InitError::Placeholder(_))));
    assert!(matches!(read("A=(1 2"), Err(InitError::Shell(_))));
    assert!(matches!(read("cat <<EOF\nx"), Err(InitError::Shell(_))));
    assert!(matches!(read("llama-server -m C:\\models\\x.gguf"), Err(InitError::Shell(_))));
    let all = read("a $X \"$(cat ')' ~/x)\" `nproc` A=$(b $(c)) d").expect("readable");
    let missing: Vec<_> = all[0].words.iter().map(|w| w.missing.as_deref()).collect();
    assert_eq!(missing, [None, Some("X"), Some("(cat ')' ~/x)"), Some("(nproc)"), Some("(b $(c))"), None]);
}

#[test]
fn assignments_and_exports() {
    let mut vars = Vars::default();
    let all = commands("export A=1 B='2 3'\nC=4\nD=5 E= run x=y", &mut vars).expect("readable");
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].set.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["D", "E"]);
    assert_eq!(all[0].words.len(), 2);
    assert_eq!(
        vars.exported().iter().map(|(n, v)| (n.as_str(), v.text.as_str())).collect::<Vec<_>>(),
        [("A", "1"), ("B", "2 3")]
    );
}
