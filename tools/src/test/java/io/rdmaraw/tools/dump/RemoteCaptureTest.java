package io.rdmaraw.tools.dump;

import static org.junit.jupiter.api.Assertions.assertEquals;

import javax.management.JMRuntimeException;
import javax.management.RuntimeErrorException;
import javax.management.RuntimeMBeanException;
import javax.management.RuntimeOperationsException;
import org.junit.jupiter.api.Test;

class RemoteCaptureTest {
    private static void check(String message, JMRuntimeException e) {
        assertEquals("process 7" + message, RemoteCapture.failure("7", e).getMessage());
    }

    @Test
    void errorsInTheProcessAreSentences() {
        check(": reduce -B", new RuntimeMBeanException(new IllegalStateException("reduce -B")));
        check(": the filter is empty", new RuntimeMBeanException(new IllegalArgumentException("the filter is empty")));
        check(" cannot capture because of an error in it: java.lang.NullPointerException",
                new RuntimeMBeanException(new NullPointerException()));
        check(" has not enough free memory for the buffers of its queues: reduce -B, and -s with it",
                new RuntimeErrorException(new OutOfMemoryError("Java heap space")));
        check(" cannot capture because of an error in it: java.lang.StackOverflowError",
                new RuntimeErrorException(new StackOverflowError()));
        check(" cannot capture because of an error in it: javax.management.RuntimeOperationsException: planted",
                new RuntimeOperationsException(new IllegalArgumentException("other"), "planted"));
    }
}
