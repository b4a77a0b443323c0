//! The words that prompts are made of when no tokenizer is at hand. Common, lower-case and free of
//! punctuation, so that a server that takes a word for a token counts exactly what was asked.

/// The fixed list; changing it changes every prompt, and so every result's key.
#[rustfmt::skip]
pub(super) const WORDS: [&str; 256] = [
    "time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school",
    "state", "family", "student", "group", "country", "problem", "hand", "part", "place", "case", "week",
    "company", "system", "program", "question", "work", "number", "night", "point", "home", "water", "room",
    "mother", "area", "money", "story", "fact", "month", "lot", "right", "study", "book", "eye", "job",
    "word", "business", "issue", "side", "kind", "head", "house", "service", "friend", "father", "power",
    "hour", "game", "line", "end", "member", "law", "car", "city", "community", "name", "president", "team",
    "minute", "idea", "body", "information", "back", "parent", "face", "others", "level", "office", "door",
    "health", "person", "art", "war", "history", "party", "result", "change", "morning", "reason",
    "research", "girl", "guy", "moment", "air", "teacher", "force", "education", "foot", "boy", "age",
    "policy", "music", "market", "sense", "nation", "plan", "college", "interest", "death", "experience",
    "effect", "use", "class", "control", "field", "development", "role", "effort", "rate", "heart", "drug",
    "show", "leader", "light", "voice", "wife", "police", "mind", "price", "report", "decision", "son",
    "view", "relationship", "town", "road", "arm", "difference", "value", "building", "action", "season",
    "society", "tax", "director", "position", "player", "record", "paper", "space", "ground", "form",
    "event", "official", "matter", "center", "couple", "site", "project", "activity", "star", "table",
    "need", "court", "oil", "situation", "cost", "industry", "figure", "street", "image", "phone", "data",
    "picture", "practice", "piece", "land", "product", "doctor", "wall", "patient", "worker", "news", "test",
    "movie", "north", "love", "support", "technology", "step", "baby", "computer", "type", "attention",
    "film", "tree", "source", "organization", "hair", "window", "culture", "chance", "brother", "energy",
    "period", "course", "summer", "plant", "opportunity", "term", "letter", "condition", "choice", "rule",
    "daughter", "south", "husband", "floor", "campaign", "material", "population", "call", "economy",
    "hospital", "church", "risk", "fire", "future", "bank", "west", "sport", "board", "subject", "officer",
    "rest", "behavior", "performance", "top", "goal", "bed", "order", "author", "blood", "agency", "nature",
    "color", "store", "sound", "movement", "page", "race", "concern", "series", "language", "response",
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn words_are_distinct_and_plain() {
        assert_eq!(WORDS.iter().collect::<HashSet<_>>().len(), WORDS.len());
        assert!(WORDS.iter().all(|word| word.bytes().all(|b| b.is_ascii_lowercase())));
    }
}
