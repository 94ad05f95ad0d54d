//! Images that are asked for wrongly.

use cri::api::*;

use super::table;

fn image(name: &str) -> Option<ImageSpec> {
    Some(ImageSpec { image: name.to_owned(), ..ImageSpec::default() })
}

table! { IMAGE_STATUS = "ImageStatus": images.image_status(ImageStatusRequest), |s, it|
    "without an image", InvalidArgument, {};
    "with an empty image", InvalidArgument, it.image = image("");
    "with a character 0 in the name", InvalidArgument, it.image = image("a\0b");
    "with a name far too long", InvalidArgument, it.image = image(&"a".repeat(2000));
}

table! { PULL_IMAGE = "PullImage": images.pull_image(PullImageRequest), |s, it|
    "without an image", InvalidArgument, {};
    "with an empty image", InvalidArgument, it.image = image("");
    "with a character 0 in the name", InvalidArgument, it.image = image("a\0b");
    "with a name far too long", InvalidArgument, it.image = image(&"a".repeat(2000));
    "of registry.example/UPPER/case", InvalidArgument, it.image = image("registry.example/UPPER/case");
    "of a b", InvalidArgument, it.image = image("a b");
    "of a:b:c:d", InvalidArgument, it.image = image("a:b:c:d");
    "of registry.example/x@sha256:zz", InvalidArgument, it.image = image("registry.example/x@sha256:zz");
    "of ../x", InvalidArgument, it.image = image("../x");
    "of http://x/y", InvalidArgument, it.image = image("http://x/y");
    "with a password and no user", InvalidArgument,
        { it.image = image("localhost:1/x:1"); it.auth.get_or_insert_default().password = "x".into() };
    "with a login that cannot be read", InvalidArgument,
        { it.image = image("localhost:1/x:1"); it.auth.get_or_insert_default().auth = "%%%".into() };
}

table! { REMOVE_IMAGE = "RemoveImage": images.remove_image(RemoveImageRequest), |s, it|
    "without an image", InvalidArgument, {};
    "with an empty image", InvalidArgument, it.image = image("");
    "with a character 0 in the name", InvalidArgument, it.image = image("a\0b");
    "with a name far too long", InvalidArgument, it.image = image(&"a".repeat(2000));
    "of what a container uses", FailedPrecondition, it.image = image(crate::world::IMAGE);
}

table! { LIST_IMAGES = "ListImages": images.list_images(ListImagesRequest), |s, it|
    "by a name far too long", InvalidArgument,
        it.filter = Some(ImageFilter { image: image(&"a".repeat(2000)) });
}
