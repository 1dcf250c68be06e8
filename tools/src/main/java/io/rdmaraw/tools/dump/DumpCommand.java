package io.rdmaraw.tools.dump;

import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.run.EndOnSignal;
import io.rdmaraw.tools.top.JavaProcess;
import io.rdmaraw.tools.top.ProcessChoice;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Visibility;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw dump}. */
@Command(name = "dump", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = {"Captures the frames that a running process receives and sends on this transport, as tcpdump(8)"
                + " does on an interface. The process may be in another network namespace.",
            "Prints a line for each frame, or writes a pcapng file. Each queue of a loop is an interface in it.",
            "Frames that the process cannot buffer are not captured, and counted; its traffic does not wait."})
public final class DumpCommand implements Callable<Integer> {
    private static final int MAX_SNAP_BYTES = 262_144;
    private static final long MILLION = 1_000_000;
    private static final int MAX_BUFFER_KIB = 262_144;
    /** Number of bytes of frames after which the next read follows immediately. */
    private static final long BUSY_BYTES = 1 << 17;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    @Parameters(arity = "0..*", paramLabel = "FILTER", showDefaultValue = Visibility.NEVER,
            description = "the frames to capture, in the language of pcap-filter(7), such as: tcp port 80 and host"
                    + " 10.0.0.1. Needs libpcap")
    private List<String> filter = List.of();

    @Option(names = "--pid", paramLabel = "PID",
            description = "the process; by default the only one with event loops of the transport")
    private String pid;

    @Option(names = {"-w", "--write"}, paramLabel = "FILE",
            description = "write a pcapng file; - is the standard output, for | wireshark -k -i -")
    private String file;

    @Option(names = {"-c", "--count"}, paramLabel = "N", defaultValue = "0", description = "frames; 0: until Ctrl-C")
    private long count;

    @Option(names = {"-s", "--snapshot-length"}, paramLabel = "BYTES", defaultValue = "0",
            description = "bytes of each frame; 0: 262144, which is all")
    private int snapLength;

    @Option(names = "-C", paramLabel = "MB", defaultValue = "0",
            description = "after so many million bytes begin another file: FILE, FILE1, FILE2; 0: never")
    private long megabytes;

    @Option(names = "-W", paramLabel = "N", defaultValue = "0",
            description = "with -C, overwrite the first file after N: FILE0 to FILE9 with 10; 0: never")
    private int files;

    @Option(names = {"-B", "--buffer-size"}, paramLabel = "KIB", defaultValue = "4096",
            description = "buffer of each queue in the process")
    private int bufferKib;

    @Option(names = "-n", description = "numbers, which addresses and ports always are")
    private boolean numeric;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        checkOptions();
        String words = String.join(" ", filter);
        int snapBytes = snapLength == 0 ? MAX_SNAP_BYTES : snapLength;
        long[] program = words.isBlank() ? new long[0] : PcapFilter.compile(words, snapBytes);
        PrintWriter err = spec.commandLine().getErr();
        try (EndOnSignal keepRunning = new EndOnSignal(); JavaProcess process = ProcessChoice.attach("dump", pid)) {
            List<RemoteCapture> captures = new ArrayList<>();
            try {
                for (var bean : process.transports()) {
                    captures.add(RemoteCapture.start(process, bean, program, snapBytes, bufferKib << 10));
                }
                err.println("capturing frames of process " + process.pid() + ", up to " + snapBytes
                        + " bytes of each; Ctrl-C ends");
                err.flush();
                run(captures, snapBytes, words, keepRunning);
            } finally {
                captures.forEach(RemoteCapture::close);
            }
        }
        return 0;
    }

    private void checkOptions() {
        if (snapLength < 0 || snapLength > MAX_SNAP_BYTES || count < 0 || megabytes < 0 || files < 0) {
            throw new ParameterException(spec.commandLine(), "-s must be 0 to " + MAX_SNAP_BYTES + ", and -c, -C and"
                    + " -W not negative");
        }
        if (bufferKib < 1 || bufferKib > MAX_BUFFER_KIB) {
            throw new ParameterException(spec.commandLine(), "-B must be 1 to " + MAX_BUFFER_KIB);
        }
        if (megabytes > 0 && (file == null || file.equals("-")) || files > 0 && megabytes == 0) {
            throw new ParameterException(spec.commandLine(), "-C needs a file by -w, and -W needs -C");
        }
    }

    private void run(List<RemoteCapture> captures, int snapBytes, String words, BooleanSupplier keepRunning)
            throws IOException {
        CaptureReader reader;
        try (FrameSink sink = file == null ? new FrameLines(spec.commandLine().getOut())
                : new CaptureFiles(file, snapBytes, words, megabytes * MILLION, files)) {
            reader = new CaptureReader(captures, sink, count);
            while (keepRunning.getAsBoolean() && !reader.isFull()) {
                if (reader.read() < BUSY_BYTES) {
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
            reader.stop();
        } catch (IOException e) {
            throw new ToolException("cannot write " + (file == null ? "a line" : file) + ": " + e, e);
        }
        reader.printTotals(spec.commandLine().getErr());
    }
}
