//! porthole.exe itself, under Wine: the verbs that reach a running pod, over the agent's pipe and without an agent.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

use stage::{Stage, plays};

/// One Wine for all of it: starting one takes longer than the verbs.
#[test]
fn exec_stats_stop_and_rm_reach_a_pod_with_and_without_an_agent() {
    let stage = Stage::wine();
    let file = stage.pod("web", &["graceful", "bye"]);
    let up = stage.up(&file, &[]);
    up.wait_for("| ready");
    plays::exec_gives_what_the_command_says_and_its_code(&stage);
    let rows = plays::stats(&stage, &["web"]);
    assert_eq!((&rows[0]["pod"], &rows[0]["container"]), (&"default/web".into(), &"main".into()), "{rows}");
    // Wine counts the console's own process as the job's too.
    assert!(rows[0]["processes"].as_u64().is_some_and(|count| count >= 1), "{rows}");
    assert!(rows[0]["memoryBytes"].as_u64().is_some_and(|bytes| bytes > 0), "{rows}");
    let stopped = stage.porthole("stop", &["web"]);
    assert_eq!((stopped.code, stopped.stdout.trim_end()), (0, "default/web stopped"), "{}", stopped.stderr);
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("was stopped by hand")), "{said:#?}");
    stage.assert_nothing_left();

    let up = stage.up(&file, &[]);
    up.wait_for("| ready");
    up.kill();
    plays::without_an_agent_the_verbs_do_it_themselves(&stage);
}
