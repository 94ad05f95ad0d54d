//! The wire of CRI, made from our own description of it. All in Rust: nobody needs `protoc`.

/// What is kept with a pod or a container and told again as it was asked for.
const KEPT: [&str; 9] = [
    "HugepageLimit",
    "IDMapping",
    "ImageSpec",
    "LinuxContainerResources",
    "Mount",
    "NamespaceOption",
    "UserNamespace",
    "WindowsContainerResources",
    "WindowsCpuGroupAffinity",
];
const SERDE: &str = "#[derive(serde::Serialize, serde::Deserialize)] #[serde(default)]";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(["runtime.proto"], ["proto"])?;
    let mut builder = tonic_prost_build::configure().build_transport(false).btree_map(".");
    for name in KEPT {
        builder = builder.type_attribute(format!(".runtime.v1.{name}"), SERDE);
    }
    builder.compile_fds(descriptors)?;
    Ok(())
}
