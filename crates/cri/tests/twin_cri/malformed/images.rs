//! Images that are asked for wrongly.

use cri::api::*;
use tonic::Code;

use super::{Row, done};

fn image(name: &str) -> Option<ImageSpec> {
    Some(ImageSpec { image: name.to_owned(), ..ImageSpec::default() })
}

pub(super) const ROWS: &[Row] = &[
    Row {
        what: "ImageStatus without an image",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async { done(s.world.images().image_status(ImageStatusRequest::default())).await })
        },
    },
    Row {
        what: "ImageStatus with an empty image",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .images()
                        .image_status(ImageStatusRequest { image: image(""), ..Default::default() }),
                )
                .await
            })
        },
    },
    Row {
        what: "ImageStatus with a character 0 in the name",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .images()
                        .image_status(ImageStatusRequest { image: image("a\0b"), ..Default::default() }),
                )
                .await
            })
        },
    },
    Row {
        what: "ImageStatus with a name far too long",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.images().image_status(ImageStatusRequest {
                    image: image(&"a".repeat(2000)),
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "PullImage without an image",
        code: Code::InvalidArgument,
        call: |s| Box::pin(async { done(s.world.images().pull_image(PullImageRequest::default())).await }),
    },
    Row {
        what: "PullImage with an empty image",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.images().pull_image(PullImageRequest { image: image(""), ..Default::default() }))
                    .await
            })
        },
    },
    Row {
        what: "PullImage with a character 0 in the name",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .images()
                        .pull_image(PullImageRequest { image: image("a\0b"), ..Default::default() }),
                )
                .await
            })
        },
    },
    Row {
        what: "PullImage with a name far too long",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world.images().pull_image(PullImageRequest {
                        image: image(&"a".repeat(2000)),
                        ..Default::default()
                    }),
                )
                .await
            })
        },
    },
    Row {
        what: "RemoveImage without an image",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async { done(s.world.images().remove_image(RemoveImageRequest::default())).await })
        },
    },
    Row {
        what: "RemoveImage with an empty image",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.images().remove_image(RemoveImageRequest { image: image("") })).await
            })
        },
    },
    Row {
        what: "RemoveImage with a character 0 in the name",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.images().remove_image(RemoveImageRequest { image: image("a\0b") })).await
            })
        },
    },
    Row {
        what: "RemoveImage with a name far too long",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.images().remove_image(RemoveImageRequest { image: image(&"a".repeat(2000)) }))
                    .await
            })
        },
    },
    Row {
        what: "PullImage of UPPER/case",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .images()
                        .pull_image(PullImageRequest { image: image("UPPER/case"), ..Default::default() }),
                )
                .await
            })
        },
    },
    Row {
        what: "PullImage of a b",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .images()
                        .pull_image(PullImageRequest { image: image("a b"), ..Default::default() }),
                )
                .await
            })
        },
    },
    Row {
        what: "PullImage of a:b:c:d",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .images()
                        .pull_image(PullImageRequest { image: image("a:b:c:d"), ..Default::default() }),
                )
                .await
            })
        },
    },
    Row {
        what: "PullImage of registry.example/x@sha256:zz",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.images().pull_image(PullImageRequest {
                    image: image("registry.example/x@sha256:zz"),
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "PullImage of ../x",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .images()
                        .pull_image(PullImageRequest { image: image("../x"), ..Default::default() }),
                )
                .await
            })
        },
    },
    Row {
        what: "PullImage of http://x/y",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .images()
                        .pull_image(PullImageRequest { image: image("http://x/y"), ..Default::default() }),
                )
                .await
            })
        },
    },
    Row {
        what: "PullImage with a password and no user",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                let auth = Some(AuthConfig { password: "x".into(), ..Default::default() });
                done(s.world.images().pull_image(PullImageRequest {
                    image: image("localhost:1/x:1"),
                    auth,
                    sandbox_config: None,
                }))
                .await
            })
        },
    },
    Row {
        what: "PullImage with a login that cannot be read",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                let auth = Some(AuthConfig { auth: "%%%".into(), ..Default::default() });
                done(s.world.images().pull_image(PullImageRequest {
                    image: image("localhost:1/x:1"),
                    auth,
                    sandbox_config: None,
                }))
                .await
            })
        },
    },
    Row {
        what: "RemoveImage of what a container uses",
        code: Code::FailedPrecondition,
        call: |s| {
            Box::pin(async {
                done(s.world.images().remove_image(RemoveImageRequest { image: image(crate::world::IMAGE) }))
                    .await
            })
        },
    },
    Row {
        what: "ListImages by a name far too long",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.images().list_images(ListImagesRequest {
                    filter: Some(ImageFilter { image: image(&"a".repeat(2000)) }),
                }))
                .await
            })
        },
    },
];
