package io.rdmaraw.microbench.profile;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import io.rdmaraw.tools.command.ToolException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedMethod;
import jdk.management.jfr.RemoteRecordingStream;

/**
 * Uses the flight recorder of the observed process over JMX. Every JDK has it. It records Java methods only: the time
 * of native code and of the kernel counts for the calling method.
 */
final class FlightRecorder implements Profiler {
    private static final Duration PERIOD = Duration.ofMillis(10);
    private static final List<String> EVENTS = List.of("jdk.ExecutionSample", "jdk.NativeMethodSample");

    private final Map<List<StackFrame>, Long> counts = new HashMap<>();

    @Override
    public Samples sample(long pid, double seconds, String title, Path page) throws InterruptedException {
        try (JMXConnector connector = connect(pid);
                RemoteRecordingStream stream = new RemoteRecordingStream(connector.getMBeanServerConnection())) {
            for (String event : EVENTS) {
                stream.enable(event).withPeriod(PERIOD);
                stream.onEvent(event, this::add);
            }
            stream.startAsync();
            TimeUnit.NANOSECONDS.sleep((long) (seconds * 1e9));
            stream.stop();
        } catch (IOException e) {
            throw new ToolException("cannot profile process " + pid + ": " + e.getMessage(), e);
        }
        List<Samples.Stack> stacks = new ArrayList<>();
        counts.forEach((frames, count) -> stacks.add(new Samples.Stack(frames, count)));
        Samples samples = new Samples("the flight recorder (C and the kernel count to the methods that call them)",
                stacks).ofLoops();
        try {
            Files.writeString(page, CallTree.of(samples).page(title));
        } catch (IOException e) {
            throw new ToolException("cannot write " + page + ": " + e.getMessage(), e);
        }
        return samples;
    }

    private static JMXConnector connect(long pid) throws IOException {
        try {
            VirtualMachine machine = VirtualMachine.attach(Long.toString(pid));
            try {
                return JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent()));
            } finally {
                machine.detach();
            }
        } catch (AttachNotSupportedException e) {
            throw new IOException(e.getMessage() + " (it must be a JVM of the same user on this host)", e);
        }
    }

    private void add(RecordedEvent event) {
        if (event.getStackTrace() == null) {
            return;
        }
        List<StackFrame> frames = new ArrayList<>();
        event.getStackTrace().getFrames().forEach(frame -> {
            RecordedMethod method = frame.getMethod();
            frames.add(StackFrame.ofJava(method.getType().getName() + '.' + method.getName()));
        });
        Collections.reverse(frames);
        counts.merge(frames, 1L, Long::sum);
    }
}
