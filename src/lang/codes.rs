//! The registry of diagnostic codes. A code never changes its meaning; one that is retired is not given out again.
//!
//! The first letter is the severity (E error, W warning, N note), the first digit the subject: 1 syntax, 2 names, 3 flags and engines,
//! 4 values and units, 5 studies, 6 profiles, 9 what this version cannot carry out yet.

use super::diag::Severity;

macro_rules! codes {
    ($($name:ident = $code:literal, $title:literal;)*) => {
        /// A stable diagnostic code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($name),* }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// The code as printed, e.g. `E201`.
            pub fn id(self) -> &'static str {
                match self { $(Code::$name => $code),* }
            }

            /// What `perflab explain` prints: markdown with a wrong and a right example.
            pub fn page(self) -> &'static str {
                match self {
                    $(Code::$name => include_str!(concat!("../../docs/codes/", $code, ".md"))),*
                }
            }

            /// One line that says what the code stands for.
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title),* }
            }
        }
    };
}

codes! {
    NotADeclaration = "E101", "a line at the top of a file begins no declaration";
    UnknownSetting = "E102", "a block holds a setting that it does not know";
    Unexpected = "E103", "something else was expected here";
    SingleQuotes = "E104", "a string is written in other quotes than double ones";
    UnclosedString = "E105", "a string is not closed on its line";
    SpacedFlag = "E106", "a flag and its value are separated by a space";
    Unclosed = "E107", "a bracket is never closed";
    Unopened = "E108", "a bracket is closed that was never opened";
    TooDeep = "E109", "something is nested too deeply, or an expression is too long";
    TooLarge = "E110", "the file is too large";
    NotText = "E111", "the file cannot be read, or is not text";
    Empty = "E112", "the file declares nothing";
    TooMany = "E113", "the file has more mistakes than are listed";

    UnknownName = "E201", "a name is not declared";
    DeclaredTwice = "E202", "two items of one kind have the same name";
    BuiltIn = "E203", "a built-in name is declared again";
    UnknownLibrary = "E204", "the standard library has no such part";
    UnknownImport = "E205", "an imported name does not exist where it is imported from";
    Cycle = "E206", "a declaration derives from itself";
    WrongKind = "E207", "a name stands for something of another kind";
    UnknownParam = "E208", "a string inserts a param that does not exist";
    UnreadableFile = "E209", "a used file cannot be read";
    SiteEngine = "W210", "a site names an engine that is another but for a slip";

    UnknownFlag = "E301", "the engine does not know the flag";
    BadFlagValue = "E302", "the value does not fit the flag's type";
    FlagTwice = "E303", "a flag or variable is set twice in one place";
    FlagNeedsValue = "E304", "a flag needs a value, or takes none";
    FlagVersion = "E305", "the engine's version does not have the flag";
    ReservedFlag = "E306", "host, port and model belong to the serve line";
    EngineIncomplete = "E307", "an engine lacks what is needed to start it";
    EngineSetting = "E308", "an engine setting is wrong";
    ListOutsideAxis = "E309", "a list of values stands outside an axis, or an axis has more than one";
    BadPattern = "E310", "a failure pattern is not a regular expression";
    FlagClash = "E311", "factors of a product set the same thing";
    VersionMissing = "W312", "an engine states no version";
    PartialFlag = "N313", "only some of the engines here know the flag";
    AaPair = "W314", "a flag is set to its default";
    VersionUnknown = "W330", "the schema was not read from this version of the engine";
    FlagDoubt = "W331", "the schema speaks against a flag, and the engine's version may know better";
    TooManyGpus = "E315", "an engine as declared needs more GPUs than the study has";
    GpusUnstated = "W316", "GPUs are needed and the study does not say how many there are";
    ServedName = "W317", "a flag gives the model another name";
    UnsetNothing = "W318", "an `unset` takes away nothing";
    ReservedVariable = "E319", "a variable is set that is not a study's to set";
    SecretInStudy = "W336", "a study holds a secret";
    InstalledFlag = "E332", "the installed engine does not know the flag";
    InstalledValue = "E333", "the installed engine does not take the flag's value";
    InstalledVersion = "E334", "another version of the engine is installed";
    Refused = "E340", "the engine refuses to start with these flags";
    UnlistedValue = "W338", "a text that the engine is not known to take";
    ImageVersion = "W341", "the image is of another release than the engine states";
    UncheckedKeys = "N342", "the keys of an options file are not checked";
    OtherGpu = "W343", "GPUs of a kind that this version does not drive";
    UnknownVariable = "W339", "a variable that the engine is not known to read";
    Unexpanded = "W337", "a value holds what only a shell would insert";
    InstalledMissing = "W335", "the installed engine could not be asked";

    UnknownUnit = "E401", "the unit is unknown";
    MissingUnit = "E402", "a number lacks its unit, or has one too many";
    Dimension = "E403", "quantities of different kinds meet";
    NeedsStatistic = "E404", "a distribution is used without a statistic";
    UnknownMetric = "E405", "no metric, param or function has this name";
    NotCondition = "E406", "a condition was expected";
    OutOfRange = "E407", "a number is out of range";
    WrongPlace = "E408", "a quantity cannot be known where it is used";

    MissingInStudy = "E501", "a study lacks what every study needs";
    SettingTwice = "E502", "a setting stands twice";
    UnknownPoint = "E503", "an axis has no such point";
    EnginePicked = "E504", "the built-in axis engine is always picked from";
    StepEmpty = "E505", "a step does not vary exactly one product of axes";
    PickMany = "E506", "pick chooses exactly one candidate";
    TrackEngine = "E507", "a track varies its engine";
    TrackBorder = "E508", "a step starts from something on the other side of a track's border";
    Unused = "W510", "something is declared and never used";
    TooManyPoints = "E511", "a step has too many candidates, or an axis too many points";
    NeverFires = "W512", "a prune rule can never fire";
    AlwaysFires = "W513", "a prune rule always fires";
    Unreachable = "W514", "a point can never be part of a candidate";
    OnlyBase = "W515", "a step offers nothing but its base";
    SameTwice = "W516", "two candidates of a step are the same configuration";
    SettledGuard = "W517", "a step's guard is settled before anything runs";
    Impossible = "E518", "a requirement that no result can meet";
    WrongLoad = "E519", "the profile's load does not fit what the study does with it";
    MeasuresNothing = "W521", "a study measures nothing";
    BudgetNeeded = "E520", "a guided search has no budget in trials";
    BudgetUncounted = "W522", "a budget that nothing can count";
    WrongWay = "W523", "what is worse is asked for";
    Undrafted = "W524", "a requirement reads what only drafting engines have, and the baseline drafts nothing";
    Implausible = "W526", "a bound that tells no servers apart";
    Overruled = "W527", "a rule prunes what the study adopts";
    FewRequests = "W528", "a percentile far out is read of a few requests";
    NeverBinds = "W529", "a batch limit that the load never reaches";
    OneGpu = "W530", "a flag that does nothing on one GPU";
    NothingWins = "N525", "a study without an objective recommends nothing";

    ProfileSetting = "E601", "a profile setting is wrong";
    ProfileIncomplete = "E602", "a profile lacks what a load needs";
    TooLong = "W603", "requests are longer than the engine takes";

    NotYet = "N901", "this version checks it but cannot carry it out yet";
    NotYetLive = "N902", "this version can replay it but cannot measure it yet";
}

impl Code {
    pub fn severity(self) -> Severity {
        match self.id().as_bytes()[0] {
            b'W' => Severity::Warning,
            b'N' => Severity::Note,
            _ => Severity::Error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_are_given_out_once() {
        let ids: HashSet<_> = Code::ALL.iter().map(|c| c.id()).collect();
        assert_eq!(ids.len(), Code::ALL.len());
    }
}
