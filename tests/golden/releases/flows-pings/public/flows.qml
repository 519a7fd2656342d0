<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.22" styleCategories="Symbology">
  <renderer-v2 type="graduatedSymbol" attr='"trips"' symbollevels="0"
      graduatedMethod="GraduatedColor" enableorderby="0" forceraster="0">
    <ranges>
      <range lower="1" upper="9" symbol="0" label="1 – 9" render="true"/>
      <range lower="10" upper="29" symbol="1" label="10 – 29" render="true"/>
      <range lower="30" upper="99" symbol="2" label="30 – 99" render="true"/>
      <range lower="100" upper="299" symbol="3" label="100 – 299" render="true"/>
      <range lower="300" upper="999" symbol="4" label="300 – 999" render="true"/>
      <range lower="1000" upper="2999" symbol="5" label="1,000 – 2,999" render="true"/>
      <range lower="3000" upper="9999" symbol="6" label="3,000 – 9,999" render="true"/>
      <range lower="10000" upper="1.15292150461e+18" symbol="7" label="10,000 or more" render="true"/>
    </ranges>
    <symbols>
      <symbol type="line" name="0" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleLine" enabled="1" pass="0" locked="0"><prop k="line_color" v="241,96,93,255"/><prop k="line_width" v="0.3"/></layer></symbol>
      <symbol type="line" name="1" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleLine" enabled="1" pass="0" locked="0"><prop k="line_color" v="216,69,108,255"/><prop k="line_width" v="0.3"/></layer></symbol>
      <symbol type="line" name="2" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleLine" enabled="1" pass="0" locked="0"><prop k="line_color" v="183,55,121,255"/><prop k="line_width" v="0.3"/></layer></symbol>
      <symbol type="line" name="3" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleLine" enabled="1" pass="0" locked="0"><prop k="line_color" v="148,44,128,255"/><prop k="line_width" v="0.3"/></layer></symbol>
      <symbol type="line" name="4" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleLine" enabled="1" pass="0" locked="0"><prop k="line_color" v="115,32,129,255"/><prop k="line_width" v="0.3"/></layer></symbol>
      <symbol type="line" name="5" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleLine" enabled="1" pass="0" locked="0"><prop k="line_color" v="82,19,124,255"/><prop k="line_width" v="0.3"/></layer></symbol>
      <symbol type="line" name="6" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleLine" enabled="1" pass="0" locked="0"><prop k="line_color" v="47,17,99,255"/><prop k="line_width" v="0.3"/></layer></symbol>
      <symbol type="line" name="7" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleLine" enabled="1" pass="0" locked="0"><prop k="line_color" v="18,13,49,255"/><prop k="line_width" v="0.3"/></layer></symbol>
    </symbols>
  </renderer-v2>
</qgis>
