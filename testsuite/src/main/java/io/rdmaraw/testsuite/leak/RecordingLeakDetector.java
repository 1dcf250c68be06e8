package io.rdmaraw.testsuite.leak;

import io.netty.util.ResourceLeakDetector;
import io.netty.util.ResourceLeakDetectorFactory;

import java.util.ArrayList;
import java.util.List;

/**
 * A leak detector that records its reports for {@link LeakExtension}. It is installed with the system property
 * {@code io.netty.customResourceLeakDetector}, because Netty creates its detectors before any test runs.
 *
 * @param <T> type of the tracked resources
 */
public final class RecordingLeakDetector<T> extends ResourceLeakDetector<T> {
    private static final List<String> REPORTS = new ArrayList<>();

    /** Called by Netty. */
    public RecordingLeakDetector(Class<?> resourceType, int samplingInterval) {
        super(resourceType, samplingInterval);
    }

    /** Called by Netty. */
    @SuppressWarnings("deprecation") // the constructor that Netty tries first
    public RecordingLeakDetector(Class<T> resourceType, int samplingInterval, long maxActive) {
        super(resourceType, samplingInterval, maxActive);
    }

    /** Returns whether Netty uses this detector. */
    static boolean isInUse() {
        return ResourceLeakDetectorFactory.instance().newResourceLeakDetector(Object.class)
                instanceof RecordingLeakDetector;
    }

    /** Returns the reports since the last call. */
    static List<String> takeReports() {
        synchronized (REPORTS) {
            List<String> taken = List.copyOf(REPORTS);
            REPORTS.clear();
            return taken;
        }
    }

    /** Returns true: leaks must be reported independently of the log level. */
    @Override
    protected boolean needReport() {
        return true;
    }

    @Override
    protected void reportTracedLeak(String resourceType, String records) {
        add(resourceType + " was not released before it was garbage-collected:" + records);
    }

    @Override
    protected void reportUntracedLeak(String resourceType) {
        add(resourceType + " was not released before it was garbage-collected");
    }

    private static void add(String report) {
        synchronized (REPORTS) {
            REPORTS.add(report);
        }
    }
}
