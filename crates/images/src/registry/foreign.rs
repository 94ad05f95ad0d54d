//! Layers that a registry may not hand out itself: their descriptor says where they are to be had.
//!
//! An image's author chooses the address, so nothing of ours goes there but the question.

use std::time::Duration;

use reqwest::header::RANGE;
use reqwest::{Client, Response, Url};

use super::answer::PullError;
use super::client::builder;
use super::login::authority;

/// A client that knows no login.
pub(super) fn client(silence: Duration) -> Result<Client, PullError> {
    let failed =
        |source| PullError::Client { registry: "foreign layers".to_owned(), source: Box::new(source) };
    builder(silence).build().map_err(failed)
}

/// The addresses of a layer, if they are all ones that can be asked.
pub(super) fn addresses(digest: &str, urls: &[String]) -> Result<Vec<Url>, PullError> {
    let address = |url: &String| {
        let parsed = Url::parse(url).ok().filter(|parsed| matches!(parsed.scheme(), "https" | "http"));
        parsed.ok_or_else(|| PullError::ForeignUrl { digest: digest.to_owned(), url: url.clone() })
    };
    urls.iter().map(address).collect()
}

/// The first address that answers, and its name.
pub(super) async fn get(
    client: &Client,
    urls: &[Url],
    range: Option<&str>,
) -> Result<Option<(String, Response)>, PullError> {
    let mut failed = None;
    for url in urls {
        let name = authority(url);
        let request = client.get(url.clone());
        let request = range.into_iter().fold(request, |request, range| request.header(RANGE, range));
        match request.send().await {
            Ok(response) if response.status().is_success() => return Ok(Some((name, response))),
            Ok(response) => failed = Some(PullError::refusal(&name, response).await),
            Err(error) => failed = Some(PullError::unanswered(&name, error)),
        }
    }
    failed.map_or(Ok(None), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_web_is_asked_for_foreign_layers() {
        let read = |url: &str| addresses("sha256:1", &[url.to_owned()]);
        assert_eq!(read("https://go.microsoft.com/fwlink/?linkid=1").unwrap().len(), 1);
        assert!(read("http://mirror.example.com/layer").is_ok());
        for url in ["file:///etc/passwd", "ftp://a/b", "/layer", "gopher://x", ""] {
            let said = read(url).unwrap_err().to_string();
            assert!(said.contains("sha256:1") && said.contains("wanted an address"), "{url}: {said}");
        }
    }
}
