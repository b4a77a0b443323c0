//! Every rule of steps, bases and adoption, on small studies over made-up recordings.

mod elsewhere;
mod ending;
mod goodput;
mod objectives;
mod repeats;
mod rules;
mod steps;
mod tracks;

use perflab::lang::sema::Stat;
use perflab::load::samples_needed;
use perflab::plan::limits::far_out_needs;

#[test]
fn a_percentile_takes_as_many_requests_in_the_file_as_in_a_report() {
    for (stat, quantile) in [(Stat::P99, 0.99), (Stat::P999, 0.999)] {
        assert_eq!(far_out_needs(stat), Some(samples_needed(quantile)), "{}", stat.name());
    }
    assert_eq!(far_out_needs(Stat::P95), None);
}
