package io.rdmaraw.tools.demo.sockets;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.command.ExitCode;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.output.TextTable;
import io.rdmaraw.tools.run.EndOnSignal;
import io.rdmaraw.tools.run.SelfLoopback;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw demo sockets}. */
@Command(name = "sockets", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "Echoes connections and datagrams between two userspace hosts, over IPv4 and IPv6, and compares"
                + " each byte. The server runs on several loops, among which the device distributes. Ends with 1 if"
                + " content is lost or changed, or if the device does not use all loops.")
public final class SocketsDemo implements Callable<Integer> {
    private static final int MAX_LOOPS = 8;
    private static final long POLL_MILLIS = 100;

    /** The hosts that this process runs. */
    enum Role {
        both, server, client
    }

    @Option(names = {"-d", "--device"}, paramLabel = "D", defaultValue = "soft:loop",
            description = "the client's device: see ./rdma-raw devinfo --list")
    private String device;

    @Option(names = "--echo-device", paramLabel = "D",
            description = "the server's device, which the client's reaches; by default the same")
    private String echoDevice;

    @Option(names = "--loops", paramLabel = "N", defaultValue = "2", description = "loops of the server, 1 to 8")
    private int loops;

    @Option(names = "--role", paramLabel = "ROLE", defaultValue = "both",
            description = "both, server or client: the hosts that this process runs. A server runs until Ctrl-C")
    private Role role;

    @Option(names = "--json", description = "print the result as one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        if (loops < 1 || loops > MAX_LOOPS) {
            throw new ParameterException(spec.commandLine(), "--loops must be 1 to " + MAX_LOOPS);
        }
        String serverDevice = echoDevice == null ? device : echoDevice;
        if (device.equals(serverDevice)) {
            SelfLoopback.enable();
        }
        if (role == Role.client) {
            return runClient();
        }
        try (EchoServer server = new EchoServer(serverDevice, loops)) {
            return role == Role.both ? runClient() : serve(server);
        }
    }

    private int serve(EchoServer server) throws InterruptedException {
        try (EndOnSignal keepRunning = new EndOnSignal()) {
            PrintWriter out = spec.commandLine().getOut();
            out.println("the echo server is listening on " + server.device());
            out.flush();
            CountDownLatch never = new CountDownLatch(1);
            while (keepRunning.getAsBoolean()) {
                never.await(POLL_MILLIS, TimeUnit.MILLISECONDS);
            }
        }
        return 0;
    }

    private int runClient() throws InterruptedException {
        List<CheckResult> results;
        try (EchoClient client = new EchoClient(device, loops)) {
            results = client.run();
        }
        PrintWriter out = spec.commandLine().getOut();
        boolean right = results.stream().allMatch(CheckResult::isRight);
        if (json) {
            ObjectNode object = Json.object().put("device", device).put("right", right);
            object.putArray("checks").addAll(results.stream().map(CheckResult::toJson).toList());
            Json.print(out, object);
        } else {
            TextTable table = new TextTable("sockets on " + device, "");
            results.forEach(result -> table.row(result.title(), result.text()));
            table.print(out);
        }
        return right ? 0 : ExitCode.FAILED;
    }
}
