package io.rdmaraw.ffi;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.IoHandle;
import io.netty.channel.unix.GenericUnixChannelOption;
import io.netty.channel.unix.SegmentedDatagramPacket;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Generates the metadata that a native image needs for this transport from its classes, in GraalVM's format
 * {@code reachability-metadata-schema-v1.2.0.json}. As a program it prints the metadata.
 */
final class NativeImageMetadata {
    private static final String INDENT = "    ";

    private NativeImageMetadata() {
    }

    /** Makes the list contain the handles of all CPUs; see {@code Doorbell}. */
    static final String ALL_HANDLES = "-Dio.rdmaraw.mlx5.doorbellInC=true";

    public static void main(String[] args) throws Exception {
        JavaClasses classes = ownClasses();
        for (JavaClass holder : classes) {
            if (makesHandles(holder)) {
                Class.forName(holder.getName());
            }
        }
        System.out.print(json(reflection(classes), resources(), downcalls(Downcalls.created())));
    }

    static JavaClasses ownClasses() {
        return new ClassFileImporter().withImportOption(new ImportOption.DoNotIncludeTests())
                .importPackages("io.rdmaraw");
    }

    /** Handles are stored in static fields, so initialising a class creates its handles. */
    private static boolean makesHandles(JavaClass holder) {
        return holder.getMethodCallsFromSelf().stream().map(call -> call.getTarget())
                .anyMatch(target -> target.getOwner().isEquivalentTo(Downcalls.class)
                        || target.getRawReturnType().isEquivalentTo(MethodHandle.class)
                        && target.getOwner().isEquivalentTo(NativeCall.class));
    }

    static List<String> downcalls(Collection<Downcalls.HandleKey> made) {
        return made.stream().map(each -> downcall(each.descriptor(), each.options())).sorted().toList();
    }

    /** Formats a call as an entry of the section {@code foreign}. */
    static String downcall(FunctionDescriptor descriptor, Collection<? extends Linker.Option> options) {
        String result = descriptor.returnLayout().map(NativeImageMetadata::typeName).orElse("void");
        String parameters = descriptor.argumentLayouts().stream().map(layout -> quoted(typeName(layout)))
                .collect(Collectors.joining(", "));
        String entry = "{\"returnType\": " + quoted(result) + ", \"parameterTypes\": [" + parameters + "]";
        if (options.contains(Linker.Option.captureCallState("errno"))) {
            entry += ", \"options\": {\"captureCallState\": true}";
        } else if (options.contains(Linker.Option.critical(false))) {
            entry += ", \"options\": {\"critical\": {\"allowHeapAccess\": false}}";
        } else if (!options.isEmpty()) {
            throw new IllegalStateException("no name for the options " + options);
        }
        return entry + "}";
    }

    /** Returns the JNI name of a type. These types have the same size on every machine. */
    private static String typeName(MemoryLayout layout) {
        for (String name : List.of("jint", "jlong", "jshort", "jbyte", "void*")) {
            if (Linker.nativeLinker().canonicalLayouts().get(name).equals(layout.withoutName())) {
                return name;
            }
        }
        throw new IllegalStateException("no name for the layout " + layout);
    }

    private static List<String> resources() {
        String version = NativeLibrary.class.getPackageName().replace('.', '/') + '/' + TransportVersion.RESOURCE;
        return List.of("{\"glob\": " + quoted(NativeLibrary.resource("*", "*")) + "}",
                "{\"glob\": " + quoted(version) + "}");
    }

    private static List<String> reflection(JavaClasses classes) {
        Map<String, String> entries = new TreeMap<>();
        for (JavaClass each : classes) {
            boolean isAbstract = each.getModifiers().contains(JavaModifier.ABSTRACT);
            // Bootstraps instantiate channels by reflection: channel(Class).
            if (!isAbstract && each.isAssignableTo(Channel.class) && each.tryGetConstructor()
                    .filter(constructor -> constructor.getModifiers().contains(JavaModifier.PUBLIC)).isPresent()) {
                entries.put(each.getName(), "{\"type\": " + quoted(each.getName())
                        + ", \"methods\": [{\"name\": \"<init>\", \"parameterTypes\": []}]}");
            }
            // These classes refer to their own fields by name. OTHER_FIELDS has the fields of other classes.
            if (calls(each, MethodHandles.Lookup.class, "findVarHandle")
                    && !calls(each, MethodHandles.class, "privateLookupIn")) {
                entries.put(each.getName(), "{\"type\": " + quoted(each.getName()) + ", \"allDeclaredFields\": true}");
            }
            // Netty checks by reflection which methods of a handler can be skipped.
            if (!isAbstract && each.isAssignableTo(ChannelHandler.class)) {
                entries.put(each.getName(), "{\"type\": " + quoted(each.getName()) + ", \"allPublicMethods\": true}");
            }
        }
        for (Class<?> asked : REFLECTED.keySet()) {
            entries.put(asked.getName(), entry(asked, REFLECTED.get(asked)));
        }
        OTHER_FIELDS.forEach((type, fields) -> entries.put(type, "{\"type\": " + quoted(type) + ", \"fields\": ["
                + fields.stream().map(field -> "{\"name\": " + quoted(existing(type, field)) + "}")
                .collect(Collectors.joining(", ")) + "]}"));
        return List.copyOf(entries.values());
    }

    /** Methods that our code looks up by name. {@code NativeImageMetadataTest} checks that the list is complete. */
    private static final Map<Class<?>, List<Method>> REFLECTED = Map.of(
            IoHandle.class, List.of(method(IoHandle.class, "registered")),
            MemorySegment.class, List.of(method(MemorySegment.class, "ofAddress", long.class)),
            GenericUnixChannelOption.class, List.of(),
            SegmentedDatagramPacket.class, List.of());

    /** Fields of Netty that our code looks up by name. {@code NativeImageMetadataTest} checks the list. */
    private static final Map<String, List<String>> OTHER_FIELDS = Map.of(
            ServerBootstrap.class.getName() + "$ServerBootstrapAcceptor", List.of("childGroup"),
            DefaultFileRegion.class.getName(), List.of("file", "transferred"));

    /** Returns the name of a field, which must exist. */
    private static String existing(String type, String field) {
        try {
            return Class.forName(type).getDeclaredField(field).getName();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Method method(Class<?> type, String name, Class<?>... parameters) {
        try {
            return type.getMethod(name, parameters);
        } catch (NoSuchMethodException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static String entry(Class<?> type, List<Method> methods) {
        String named = methods.stream().map(method -> "{\"name\": " + quoted(method.getName())
                + ", \"parameterTypes\": [" + List.of(method.getParameterTypes()).stream()
                .map(parameter -> quoted(parameter.getName())).collect(Collectors.joining(", ")) + "]}")
                .collect(Collectors.joining(", "));
        return "{\"type\": " + quoted(type.getName()) + (named.isEmpty() ? "" : ", \"methods\": [" + named + "]") + "}";
    }

    private static boolean calls(JavaClass each, Class<?> owner, String method) {
        return each.getMethodCallsFromSelf().stream().map(call -> call.getTarget())
                .anyMatch(target -> target.getOwner().isEquivalentTo(owner) && target.getName().equals(method));
    }

    private static String json(List<String> reflection, List<String> resources, List<String> downcalls) {
        return "{\n  \"reflection\": " + array(reflection) + ",\n  \"resources\": " + array(resources)
                + ",\n  \"foreign\": {\"downcalls\": " + array(downcalls) + "}\n}\n";
    }

    private static String array(List<String> entries) {
        return entries.stream().map(entry -> INDENT + entry).collect(Collectors.joining(",\n", "[\n", "\n  ]"));
    }

    private static String quoted(String text) {
        return '"' + text + '"';
    }

    /** Returns the downcalls for which the JDK's linker has created handles in this JVM, read from its cache. */
    static List<String> linkedDowncalls() throws ReflectiveOperationException {
        return linked("DOWNCALL_CACHE");
    }

    static List<String> linkedUpcalls() throws ReflectiveOperationException {
        return linked("UPCALL_CACHE");
    }

    private static List<String> linked(String field) throws ReflectiveOperationException {
        Object cache = valueOf(Class.forName("jdk.internal.foreign.abi.AbstractLinker"), field,
                Linker.nativeLinker());
        Map<?, ?> requests = (Map<?, ?>) valueOf(cache.getClass(), "cache", cache);
        List<String> calls = new ArrayList<>();
        for (Object request : requests.keySet()) {
            Object options = valueOf(request.getClass(), "options", request);
            Map<?, ?> byType = (Map<?, ?>) valueOf(options.getClass(), "optionsMap", options);
            calls.add(downcall((FunctionDescriptor) valueOf(request.getClass(), "descriptor", request),
                    byType.values().stream().map(Linker.Option.class::cast).toList()));
        }
        return List.copyOf(new TreeSet<>(calls));
    }

    private static Object valueOf(Class<?> type, String field, Object of) throws ReflectiveOperationException {
        Field found = type.getDeclaredField(field);
        found.setAccessible(true);
        return found.get(of);
    }
}
