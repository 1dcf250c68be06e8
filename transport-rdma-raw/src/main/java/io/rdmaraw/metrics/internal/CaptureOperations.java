package io.rdmaraw.metrics.internal;

import io.rdmaraw.capture.FrameCapture;

import javax.management.MBeanOperationInfo;
import javax.management.MBeanParameterInfo;
import javax.management.ReflectionException;

/** The operations of {@link TransportMBean} by which {@code ./rdma-raw dump} captures frames. */
final class CaptureOperations {
    private static final MBeanParameterInfo ID =
            new MBeanParameterInfo("id", long.class.getName(), "the result of startCapture");

    private CaptureOperations() {
    }

    static MBeanOperationInfo[] describe() {
        return new MBeanOperationInfo[] {
            operation("startCapture", "starts to capture frames and returns the capture's ID", long.class,
                    new MBeanParameterInfo("filter", long[].class.getName(), "instructions of classic BPF"),
                    new MBeanParameterInfo("snapBytes", int.class.getName(), "maximum bytes of a frame"),
                    new MBeanParameterInfo("bufferBytes", int.class.getName(), "buffer of each loop")),
            operation("readCapture", "returns captured frames", byte[].class, ID,
                    new MBeanParameterInfo("knownPoints", int.class.getName(), "number of points in earlier replies")),
            operation("renewCapture", "lets the capture go on for five seconds", void.class, ID),
            operation("stopCapture", "stops the capture; its frames can still be read", void.class, ID)};
    }

    private static MBeanOperationInfo operation(String name, String description, Class<?> type,
            MBeanParameterInfo... parameters) {
        return new MBeanOperationInfo(name, description, parameters, type.getName(), MBeanOperationInfo.ACTION);
    }

    static Object invoke(String action, Object[] arguments) throws ReflectionException {
        switch (action) {
            case "startCapture" -> {
                return FrameCapture.start((long[]) arguments[0], (int) arguments[1], (int) arguments[2]);
            }
            case "readCapture" -> {
                return FrameCapture.read((long) arguments[0], (int) arguments[1]);
            }
            case "renewCapture" -> FrameCapture.renew((long) arguments[0]);
            case "stopCapture" -> FrameCapture.stop((long) arguments[0]);
            default -> throw new ReflectionException(new NoSuchMethodException(action));
        }
        return null;
    }
}
