package io.rdmaraw.testsuite.contract;

import java.util.List;

/** One action of a program. Steps are immutable; the state belongs to the run. */
interface Step {
    /** Performs the step. An exception is recorded as the result of the step. */
    void run(ProgramRun run, int id) throws Exception;

    /** Returns the step as a line of Java-like source. */
    String source(int id);

    /** Returns the steps that this one contains. */
    default List<Numbered> inner() {
        return List.of();
    }

    /** Returns this step with other inner steps. */
    default Step withInner(List<Numbered> steps) {
        return this;
    }

    /** A step and its number, which does not change when other steps are deleted. */
    record Numbered(int id, Step step) {
    }
}
