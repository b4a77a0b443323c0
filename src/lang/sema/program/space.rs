//! What an axis changes, and the candidates that a step makes of axes.

use std::sync::Arc;

use super::engine::EnvSetting;
use crate::lang::source::Span;

/// One change to a configuration. Flags keep their value as written: what it means depends on the engine that they meet.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Engine(String),
    Flag { name: String, value: Option<WrittenValue>, span: Span },
    Raw { name: String, value: Option<WrittenValue>, span: Span },
    Env(EnvSetting),
    Model(String),
    UnsetFlag { name: String, span: Span },
    UnsetEnv(String),
}

/// A flag's value as written, params inserted.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenValue {
    pub text: String,
    pub json: bool,
    /// a string of an engine that inserts what only a launch knows
    pub template: bool,
    pub span: Span,
}

/// One point of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub axis: String,
    /// by which it is picked
    pub name: String,
    /// what is printed for it
    pub label: String,
    pub changes: Vec<Change>,
    /// where it is written
    pub span: Span,
}

/// The candidates of a step: sums and products over points, never written out.
#[derive(Debug, Clone)]
pub enum Space {
    Points(Arc<Vec<Point>>),
    Sum(Vec<Space>),
    Product(Vec<Space>),
}

impl Space {
    /// How many candidates; saturates.
    pub fn len(&self) -> usize {
        match self {
            Self::Points(p) => p.len(),
            Self::Sum(parts) => parts.iter().fold(0, |n, p| n.saturating_add(p.len())),
            Self::Product(parts) => parts.iter().fold(1, |n, p| n.saturating_mul(p.len())),
        }
    }

    /// The decimal logarithm of how many candidates, for those that are too many to count.
    pub fn magnitude(&self) -> f64 {
        match self {
            Self::Points(p) => (p.len() as f64).log10(),
            Self::Sum(parts) => {
                let parts: Vec<f64> = parts.iter().map(Self::magnitude).collect();
                let most = parts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let shares = parts.iter().map(|p| 10_f64.powf(p - most));
                if most.is_finite() { most + shares.sum::<f64>().log10() } else { most }
            }
            Self::Product(parts) => parts.iter().map(Self::magnitude).sum(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The points of one candidate, left factor first. The left factor changes slowest.
    pub fn candidate(&self, index: usize) -> Vec<&Point> {
        match self {
            Self::Points(points) => points.get(index).into_iter().collect(),
            Self::Sum(parts) => {
                let mut rest = index;
                for part in parts {
                    if rest < part.len() {
                        return part.candidate(rest);
                    }
                    rest -= part.len();
                }
                Vec::new()
            }
            Self::Product(parts) => {
                let mut picked = Vec::with_capacity(parts.len());
                let mut rest = index;
                for (i, part) in parts.iter().enumerate() {
                    let below = parts[i + 1..].iter().fold(1usize, |n, p| n.saturating_mul(p.len())).max(1);
                    picked.extend(part.candidate(rest / below));
                    rest %= below;
                }
                picked
            }
        }
    }

    /// No candidate: what a contest between tracks has beside their winners.
    pub fn none() -> Self {
        Self::Sum(Vec::new())
    }

    /// Whether some point is like this.
    pub fn any(&self, test: &dyn Fn(&Point) -> bool) -> bool {
        match self {
            Self::Points(points) => points.iter().any(test),
            Self::Sum(parts) | Self::Product(parts) => parts.iter().any(|p| p.any(test)),
        }
    }

    /// Whether each candidate holds a point like this.
    pub fn each_holds(&self, test: &dyn Fn(&Point) -> bool) -> bool {
        match self {
            Self::Points(points) => points.iter().all(test),
            Self::Sum(parts) => parts.iter().all(|p| p.each_holds(test)),
            Self::Product(parts) => parts.iter().any(|p| p.each_holds(test)),
        }
    }

    /// The lists that its points stand in; steps that vary one axis share one.
    pub fn lists(&self) -> Vec<&Arc<Vec<Point>>> {
        match self {
            Self::Points(points) => vec![points],
            Self::Sum(parts) | Self::Product(parts) => parts.iter().flat_map(Space::lists).collect(),
        }
    }

    /// Every point that some candidate holds.
    pub fn points(&self) -> Vec<&Point> {
        match self {
            Self::Points(points) => points.iter().collect(),
            Self::Sum(parts) | Self::Product(parts) => parts.iter().flat_map(Space::points).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, n: usize) -> Space {
        let point = |i: usize| Point {
            axis: name.into(),
            name: format!("{name}{i}"),
            label: format!("{name}{i}"),
            changes: vec![],
            span: Span::default(),
        };
        Space::Points(Arc::new((0..n).map(point).collect()))
    }

    #[test]
    fn candidates_are_indices_with_the_left_factor_slowest() {
        let space = Space::Product(vec![axis("a", 2), Space::Sum(vec![axis("b", 1), axis("c", 2)])]);
        assert_eq!(space.len(), 6);
        let labels: Vec<String> = (0..6)
            .map(|i| space.candidate(i).iter().map(|p| p.label.as_str()).collect::<Vec<_>>().join("+"))
            .collect();
        assert_eq!(labels, ["a0+b0", "a0+c0", "a0+c1", "a1+b0", "a1+c0", "a1+c1"]);
    }

    #[test]
    fn a_huge_product_costs_nothing_until_looked_at() {
        let space = Space::Product((0..40).map(|_| axis("x", 10)).collect());
        assert_eq!((space.len(), space.magnitude().round()), (usize::MAX, 40.0));
        assert_eq!(Space::Product(vec![axis("x", 1000); 3]).candidate(999_999_999)[2].name, "x999");
    }
}
