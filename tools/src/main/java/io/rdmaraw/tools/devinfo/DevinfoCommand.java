package io.rdmaraw.tools.devinfo;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.command.DeviceChoice;
import io.rdmaraw.tools.command.ExitCode;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code rdma-raw devinfo}: describes each device of each provider. */
@Command(name = "devinfo", mixinStandardHelpOptions = true,
        description = "Prints what each device can do, as ibv_devinfo -v does, for rdma-core and for softverbs.")
public final class DevinfoCommand implements Callable<Integer> {
    private static final String FAILURE = "failure";

    @ArgGroup
    private DeviceChoice choice;

    @Option(names = "--list", description = "print the names only, and those of what AF_XDP could open")
    private boolean namesOnly;

    @Option(names = "--json", description = "print one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    private String device;

    @Override
    public Integer call() {
        device = DeviceChoice.nameOrNull(choice);
        List<String> names = device == null ? VerbsDevices.names() : List.of(device);
        if (device == null && namesOnly) {
            names = Stream.concat(names.stream(), NetworkInterfaces.onThisHost().stream()).distinct().toList();
        }
        if (names.isEmpty()) {
            throw new ToolException("there is no device: neither rdma-core nor softverbs could be loaded; see"
                    + " ./rdma-raw doctor");
        }
        PrintWriter out = spec.commandLine().getOut();
        if (namesOnly) {
            printNames(out, names);
            return 0;
        }
        List<Map<String, Object>> descriptions = names.stream().map(this::describe).toList();
        if (json) {
            ObjectNode report = Json.object();
            report.set("devices", new ObjectMapper().<ArrayNode>valueToTree(descriptions));
            Json.print(out, report);
        } else {
            descriptions.forEach(description -> DescriptionPrinter.print(out, description));
        }
        return descriptions.stream().anyMatch(description -> description.containsKey(FAILURE)) ? ExitCode.FAILED : 0;
    }

    /** Describes a device. A device that cannot be opened is reported as such, so that the others are still listed. */
    private Map<String, Object> describe(String name) {
        try (VerbsContext context = VerbsDevices.open(name)) {
            return DeviceDescription.of(context);
        } catch (VerbsException e) {
            if (device != null) {
                throw e;
            }
            Map<String, Object> description = new LinkedHashMap<>();
            description.put("hca_id", name);
            description.put(FAILURE, e.getMessage());
            return description;
        }
    }

    private void printNames(PrintWriter out, List<String> names) {
        if (json) {
            ObjectNode report = Json.object();
            names.forEach(report.putArray("devices")::add);
            Json.print(out, report);
            return;
        }
        for (String name : names) {
            String remark = NetworkInterfaces.describe(name);
            out.println(remark.isEmpty() ? name : name + "  (" + remark + ')');
        }
        out.flush();
    }
}
