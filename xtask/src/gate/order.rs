//! Which test program runs when: the longest first, so that no lane ends long after the others; at the very end, one by
//! one, those that share the machine with no other.

/// A test program that runs beside no other, and why.
#[derive(Debug)]
struct Alone {
    package: &'static str,
    program: &'static str,
    #[expect(dead_code, reason = "for those who read the table")]
    why: &'static str,
}

/// What a program looks for on the host otherwise has a name of its own: a directory, a guard's id, a root's jobs.
const ALONE: &[Alone] = &[
    Alone {
        package: "os",
        program: "twin_os",
        why: "the host's mounts and probes are the same before and after",
    },
    Alone {
        package: "images",
        program: "twin_pull",
        why: "who gives a pull up has his answer within two seconds",
    },
    Alone {
        package: "runtime",
        program: "twin_crash",
        why: "after each of hundreds of kills all is mended within a minute, on a busy machine too",
    },
    Alone {
        package: "testbed",
        program: "cluster_control_plane",
        why: "a control plane is there within half a minute, which is a promise",
    },
];

/// Places in the list of programs that was asked about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// To be run in lanes.
    pub(super) beside: Vec<usize>,
    /// To be run after them, one by one.
    pub(super) alone: Vec<usize>,
}

/// From each program's package, name and seconds in the last run. One that is new may be long: it goes first.
pub(super) fn order(programs: &[(&str, &str, Option<f64>)]) -> Order {
    let mut places: Vec<usize> = (0..programs.len()).collect();
    let seconds = |at: &usize| programs[*at].2.unwrap_or(f64::INFINITY);
    places.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)));
    let (alone, beside) = places.into_iter().partition(|at| is_alone(programs[*at].0, programs[*at].1));
    Order { beside, alone }
}

fn is_alone(package: &str, program: &str) -> bool {
    ALONE.iter().any(|alone| alone.package == package && alone.program == program)
}

#[cfg(test)]
mod tests {
    use testbed::tools::repo_root;

    use super::*;

    #[test]
    fn the_longest_of_the_last_run_goes_first_and_a_new_one_before_it() {
        let programs =
            [("os", "a", Some(1.0)), ("os", "b", Some(30.0)), ("os", "new", None), ("os", "c", Some(2.0))];
        assert_eq!(order(&programs), Order { beside: vec![2, 1, 3, 0], alone: vec![] });
    }

    #[test]
    fn without_a_last_run_the_order_is_cargos() {
        let programs = [("os", "b", None), ("os", "a", None), ("rules", "rules", None)];
        assert_eq!(order(&programs).beside, [0, 1, 2]);
    }

    #[test]
    fn who_must_be_alone_waits_for_the_lanes_to_be_empty() {
        let programs =
            [("os", "twin_os", Some(90.0)), ("cri", "twin_cri", Some(50.0)), ("images", "twin_pull", None)];
        assert_eq!(order(&programs), Order { beside: vec![1], alone: vec![2, 0] });
        assert!(!is_alone("porthole", "twin_os"), "another package's program of that name");
    }

    #[test]
    fn every_program_that_must_be_alone_exists() {
        let root = repo_root().expect("the repository");
        for Alone { package, program, .. } in ALONE {
            let tests = ["", "crates"].map(|above| root.join(above).join(package).join("tests"));
            let files = [format!("{program}.rs"), format!("{program}/main.rs")];
            let found = tests.iter().any(|dir| files.iter().any(|file| dir.join(file).exists()));
            assert!(found, "{package} has no {program}: was it renamed?");
        }
    }
}
