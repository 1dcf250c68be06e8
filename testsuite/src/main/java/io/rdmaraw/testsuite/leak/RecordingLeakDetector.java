package io.rdmaraw.testsuite.leak;

import io.netty.util.ResourceLeakDetector;
import io.netty.util.ResourceLeakDetectorFactory;

import java.util.ArrayList;
import java.util.List;

/**
 * Netty's leak detector, which also keeps what it finds for {@link LeakExtension}. The system property
 * {@code io.netty.customResourceLeakDetector} names it, as Netty makes its detectors before any test runs.
 *
 * @param <T> what is watched
 */
public final class RecordingLeakDetector<T> extends ResourceLeakDetector<T> {
    private static final List<String> REPORTS = new ArrayList<>();

    /** Called by Netty. */
    public RecordingLeakDetector(Class<?> resourceType, int samplingInterval) {
        super(resourceType, samplingInterval);
    }

    /** Called by Netty. */
    @SuppressWarnings("deprecation") // the constructor that Netty looks for first
    public RecordingLeakDetector(Class<T> resourceType, int samplingInterval, long maxActive) {
        super(resourceType, samplingInterval, maxActive);
    }

    /** Tells whether Netty uses this detector. */
    static boolean isInUse() {
        return ResourceLeakDetectorFactory.instance().newResourceLeakDetector(Object.class)
                instanceof RecordingLeakDetector;
    }

    /** Returns what was found since the last call. */
    static List<String> takeReports() {
        synchronized (REPORTS) {
            List<String> taken = List.copyOf(REPORTS);
            REPORTS.clear();
            return taken;
        }
    }

    /** What nobody hears of would be found by none. */
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
