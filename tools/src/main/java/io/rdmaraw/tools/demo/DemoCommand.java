package io.rdmaraw.tools.demo;

import io.rdmaraw.tools.command.ExitCode;
import io.rdmaraw.tools.demo.server.DnsDemo;
import io.rdmaraw.tools.demo.server.HttpDemo;
import io.rdmaraw.tools.demo.sockets.SocketsDemo;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.run.EndOnSignal;
import io.rdmaraw.tools.run.SelfLoopback;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw demo}. */
@Command(name = "demo", mixinStandardHelpOptions = true, showDefaultValues = true,
        subcommands = {HttpDemo.class, DnsDemo.class, SocketsDemo.class},
        synopsisSubcommandLabel = "[http | dns | sockets]",
        description = "Echoes Ethernet frames between two event loops. Each frame carries a sequence number and a"
                + " checksum that is verified when it is back. Ends with 1 if a frame is lost or changed.")
public final class DemoCommand implements Callable<Integer> {
    @Option(names = {"-d", "--device"}, paramLabel = "D", defaultValue = "soft:loop",
            description = "the device: see ./rdma-raw devinfo --list")
    private String device;

    @Option(names = "--echo-device", paramLabel = "D",
            description = "a second device, which the first one reaches, for the event loop that echoes")
    private String echoDevice;

    @Option(names = {"-D", "--seconds"}, paramLabel = "S", defaultValue = "5",
            description = "duration; the first half, 3 seconds at most, is warm-up and does not count in the rates")
    private double seconds;

    @Option(names = {"-s", "--length"}, paramLabel = "BYTES", defaultValue = "64",
            description = "length of the frames without FCS, 60 or more")
    private int frameBytes;

    @Option(names = {"-w", "--window"}, paramLabel = "FRAMES", defaultValue = "256",
            description = "frames in flight, 1 to 512")
    private int window;

    @Option(names = "--json", description = "print the result as one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        check(seconds > 0 && seconds <= 86_400, "--seconds must be more than 0 and at most 86400");
        check(frameBytes >= ProbeFrame.MIN_BYTES && frameBytes <= 9_216, "--length must be 60 to 9216");
        // With a larger window, a late loop could overrun a receive queue of the default depth.
        check(window >= 1 && window <= 512, "--window must be 1 to 512");
        DemoOptions options = new DemoOptions(device, echoDevice == null ? device : echoDevice, seconds,
                frameBytes, window);
        if (options.device().equals(options.echoDevice())) {
            SelfLoopback.enable();
        }
        try (EndOnSignal keepRunning = new EndOnSignal()) {
            DemoResult result = new EchoDemo(options, spec.commandLine().getErr(), keepRunning).run();
            print(result);
            return result.isClean() ? 0 : ExitCode.FAILED;
        }
    }

    private void print(DemoResult result) {
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            Json.print(out, result.toJson());
        } else {
            result.printTable(out);
        }
    }

    private void check(boolean right, String fault) {
        if (!right) {
            throw new ParameterException(spec.commandLine(), fault);
        }
    }
}
