package io.rdmaraw.testsuite;

import io.rdmaraw.testsuite.leak.RecordingLeakDetector;
import java.io.PrintWriter;
import java.util.List;
import java.util.stream.Stream;
import org.junit.platform.engine.discovery.ClassSelector;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * Runs test classes from the class path on systems without Maven, such as the virtual machines of {@code test
 * --kernels}.
 */
public final class TestLauncher {
    private TestLauncher() {
    }

    /** Runs the named classes. The exit status is 1 if a test failed or none passed. */
    public static void main(String[] args) {
        // As Maven does for tests that look for lost buffers. Netty must not have created a detector before.
        System.setProperty("io.netty.customResourceLeakDetector", RecordingLeakDetector.class.getName());
        SummaryGeneratingListener summary = new SummaryGeneratingListener();
        List<ClassSelector> classes = Stream.of(args).map(DiscoverySelectors::selectClass).toList();
        LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request().selectors(classes).build(), summary,
                new TestExecutionListener() {
                    @Override
                    public void executionSkipped(TestIdentifier test, String reason) {
                        System.out.println("skipped: " + test.getDisplayName() + ": " + reason);
                    }
                });
        TestExecutionSummary result = summary.getSummary();
        result.printFailuresTo(new PrintWriter(System.out, true));
        System.out.printf("%d passed, %d failed, %d skipped%n", result.getTestsSucceededCount(),
                result.getTotalFailureCount(), result.getTestsSkippedCount() + result.getTestsAbortedCount());
        System.exit(result.getTotalFailureCount() == 0 && result.getTestsSucceededCount() > 0 ? 0 : 1);
    }
}
