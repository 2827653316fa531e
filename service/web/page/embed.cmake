# Writes a C++ source that holds the page's files. Run at build time:
# cmake -D OUTPUT=<file> -D FILES=<file,file...> -P embed.cmake
string(REPLACE "," ";" FILES "${FILES}")
set(types_html "text/html; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_svg "image/svg+xml")

set(arrays "")
set(table "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  string(MAKE_C_IDENTIFIER ${name} identifier)
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR bytes "${digits} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n    " lines "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," lines "${lines}")
  string(APPEND arrays "constexpr unsigned char ${identifier}[] = {\n    ${lines}};\n\n")
  string(APPEND table
    "    {\"${name}\", \"${types_${extension}}\",\n"
    "     {reinterpret_cast<const char*>(${identifier}), ${bytes}}},\n")
endforeach()

file(WRITE ${OUTPUT} "// Generated from service/web/page/.
#include \"service/web/live_page_assets.h\"

namespace millrace::service {
namespace {

${arrays}}  // namespace

std::span<const LivePageAsset> LivePageAssets() {
  static const LivePageAsset assets[] = {
${table}  };
  return assets;
}

}  // namespace millrace::service
")
