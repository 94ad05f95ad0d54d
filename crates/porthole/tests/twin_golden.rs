//! The golden table of command lines on the twin: each row is a container, and a real process tells how it was started.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

#[expect(dead_code, reason = "the table has rows for both kinds of host")]
mod golden;

use golden::{UNIX, UNIX_ROWS, Wanted, unix_spelling};
use stage::Stage;

// proves: HP-15 twin
#[test]
fn what_people_write_is_what_is_run() {
    let stage = Stage::twin();
    let host = stage.dir().join("host");
    let image = stage.root().join("hpc").display().to_string();
    let written = |text: &str| text.replace("/host", host.to_str().unwrap()).replace("/image", &image);
    golden::lay_image(&stage, &UNIX);
    golden::lay_host(&stage, &UNIX, |path| written(path).into());
    let rows: Vec<_> = UNIX_ROWS.iter().enumerate().collect();
    let played = golden::play(&stage, &UNIX, "linux", &rows, &written);
    for (number, row) in rows {
        match row.wanted {
            Wanted::Refused(named) => played.assert_refused(number, row, &written(named)),
            Wanted::Runs { program, cwd } => {
                let told = played.told(number, row);
                assert_eq!(told.image, image, "{row:?}");
                assert_eq!(told.exe, unix_spelling(&written(program)), "{row:?}");
                assert_eq!(told.cwd, unix_spelling(&written(cwd)), "{row:?}");
                let words: Vec<_> = row.argv().iter().map(|word| format!("{:?}", written(word))).collect();
                assert_eq!(told.words, words, "{row:?}");
            }
        }
    }
}
