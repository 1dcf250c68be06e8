package io.rdmaraw.testsuite.script;

import java.util.List;

/**
 * A line of RFC 9293, appendix B.
 *
 * @param id    the label of the RFC, MUST-1 for instance
 * @param text  what it asks, in a few words
 * @param state how far it is met
 * @param tests what shows it besides scripts, as {@code Class.method}
 * @param note  why it is not met or only partly, or why no exchange could show it; may be empty
 */
record Requirement(String id, String text, State state, List<String> tests, String note) {
    /** How far a requirement is met. */
    enum State {
        MET("met"), PARTLY("partly"), NOT_MET("**not met**"), NOT_DONE("not done");

        private final String words;

        State(String words) {
            this.words = words;
        }

        String words() {
            return words;
        }
    }

    boolean isMust() {
        return id.startsWith("MUST");
    }
}
