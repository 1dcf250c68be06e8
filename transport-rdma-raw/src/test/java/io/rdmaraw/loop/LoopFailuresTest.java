package io.rdmaraw.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class LoopFailuresTest {
    /** Logging fails, as it does if no memory is left for the line. */
    private static final class Unprintable extends Error {
        private static final long serialVersionUID = 1;

        @Override
        public String getMessage() {
            throw new OutOfMemoryError();
        }
    }

    @Test
    void failureOfTheLoggerIsNotThrown() {
        LoopFailures failures = new LoopFailures();
        failures.add(new Unprintable());
        assertEquals(1, failures.count());
    }
}
