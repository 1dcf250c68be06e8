package io.rdmaraw.testsuite.script;

import java.util.List;

/**
 * A requirement of RFC 9293, appendix B.
 *
 * @param id    its label in the RFC, such as MUST-1
 * @param text  a summary of the requirement
 * @param state the degree to which it is met
 * @param tests tests that verify it in addition to scripts, as {@code Class.method}
 * @param note  why it is not or only partly met, or why no script can verify it; may be empty
 */
record Requirement(String id, String text, State state, List<String> tests, String note) {
    /** The degree to which a requirement is met. */
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
