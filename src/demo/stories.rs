//! Which stories are played, each a world and a model, made anew for every way of playing it.

use super::models::{Buyer, Model, Stubborn, Traveller};
use super::worlds::{Broken, Counted, Flights, Payments, World};

/// How often the usual wrapper tries a call.
const USUAL_ATTEMPTS: u32 = 3;

/// One story of the articles.
pub(super) struct Story {
    pub(super) title: &'static str,
    /// How often the naive wrapper tries each call that the model makes.
    pub(super) attempts: u32,
    pub(super) world: fn() -> Box<dyn World>,
    pub(super) model: fn() -> Box<dyn Model>,
}

impl Story {
    pub(super) fn begin(&self) -> (Counted, Box<dyn Model>) {
        (Counted::new((self.world)()), (self.model)())
    }
}

pub(super) fn stories() -> Vec<Story> {
    vec![
        Story {
            title: "The card charged twice",
            attempts: USUAL_ATTEMPTS,
            world: || Box::new(Payments::default()),
            model: || Box::new(Buyer::new()),
        },
        Story {
            title: "Backoff against a 400",
            attempts: USUAL_ATTEMPTS,
            world: || Box::new(Flights),
            model: || Box::new(Traveller::new()),
        },
        Story {
            title: "Four tools, one canvas",
            attempts: USUAL_ATTEMPTS,
            world: || Box::new(Broken::canvas()),
            model: || {
                let tools = ["draw_rect", "draw_path", "draw_svg", "draw_text"];
                Box::new(Stubborn::with_tools(&tools))
            },
        },
        Story {
            title: "A dead dependency",
            attempts: USUAL_ATTEMPTS,
            world: || Box::new(Broken::client_link()),
            model: || {
                let tools = ["read_tab", "click", "scroll", "screenshot"];
                Box::new(Stubborn::with_tools(&tools))
            },
        },
        Story {
            title: "One tool, 23 times",
            // Here the model itself was the loop: every one of the 23 calls was its own.
            attempts: 1,
            world: || Box::new(Broken::directory()),
            model: || Box::new(Stubborn::with_arguments("lookup", 23)),
        },
    ]
}
